import type { Job } from '../../lib/job.ts';
export function PendingTab({ job }: { job: Job }) {
  return <p>{job.jobId}</p>;
}
