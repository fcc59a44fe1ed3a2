import type { Job } from '../../lib/job.ts';
export function ItemDrawer({ job }: { job: Job }) {
  return job.jobId === '' ? <p /> : null;
}
