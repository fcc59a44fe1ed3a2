import type { Job } from '../../lib/job.ts';
export function GenerationsTab({ job }: { job: Job }) {
  return <p>{job.jobId}</p>;
}
