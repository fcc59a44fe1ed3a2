import type { Job } from '../../lib/job.ts';
export function ActivityTab({ job }: { job: Job }) {
  return <p>{job.jobId}</p>;
}
