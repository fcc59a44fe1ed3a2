import type { Job } from '../../lib/job.ts';
export function ErrorsTab({ job }: { job: Job }) {
  return <p>{job.jobId}</p>;
}
