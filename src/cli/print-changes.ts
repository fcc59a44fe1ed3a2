// Watches a job until it finishes or stops, for programs: one JSON line per change.
import type { JobPort, ShownJob } from './remote/job-port.ts';
import { type FollowEnd, howItIs } from './show-progress.ts';

export interface PrintChangesOptions {
  signal: AbortSignal;
  /** If false, nothing is printed. */
  live: boolean;
}

export async function printChanges(
  port: Pick<JobPort, 'watch'>,
  jobId: string,
  { signal, live }: PrintChangesOptions,
): Promise<FollowEnd> {
  let printed = '';
  let last: ShownJob | null = null;
  for await (const { job } of port.watch(jobId, signal)) {
    const line = JSON.stringify(progressOf(job));
    if (live && line !== printed) console.log(line);
    printed = line;
    last = job;
    const how = howItIs(job);
    if (how !== 'stopped' || signal.aborted) return { how, job };
  }
  return { how: 'over', job: last! };
}

export function progressOf(job: ShownJob) {
  const { jobId, state, generation, itemCount, sealed, counts, cost, costUnit } = job;
  return { jobId, state, generation, itemCount, sealed, counts, cost, costUnit };
}
