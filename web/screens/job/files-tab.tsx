import type { Job } from '../../lib/job.ts';
export function FilesTab({ job }: { job: Job }) {
  return <p>{job.jobId}</p>;
}
