// Watches a job until it finishes or stops, and feeds the progress display.
import { isFinished } from '../core/jobs/job-state.ts';
import { monotonicMs, wallClockMs } from '../platform/clock.ts';
import { isDumbTerminal } from '../platform/environment.ts';
import { createProgressDisplay } from './progress-display.ts';
import type { ProgressSnapshot } from './progress-lines.ts';
import type { JobPort, ShownJob, WatchedJob } from './remote/job-port.ts';
import type { WorkerOutput } from './worker-output.ts';

export interface FollowOptions {
  signal: AbortSignal;
  /** If false, only the summary is shown. */
  live: boolean;
  notice?: () => string | undefined;
  /** Log lines of this command's worker, which must not be written into the drawn block. */
  output?: WorkerOutput | undefined;
}

/** `over`: the job finished. `waits`: all remaining rows wait for a resume. `stopped`: the command was stopped. */
export type FollowEnd = { how: 'over' | 'waits' | 'stopped'; job: ShownJob };

export async function showProgress(
  port: Pick<JobPort, 'watch'>,
  jobId: string,
  options: FollowOptions,
): Promise<FollowEnd> {
  const stream = process.stdout;
  const display = createProgressDisplay({ stream, isTty: stream.isTTY === true && !isDumbTerminal() });
  options.output?.showAbove((lines) => display.print(lines));
  const toSnapshot = snapshots();
  let last: { snapshot: ProgressSnapshot; job: ShownJob } | null = null;
  for await (const watched of port.watch(jobId, options.signal)) {
    const snapshot = toSnapshot(watched);
    last = { snapshot, job: watched.job };
    const notice = options.notice?.() ?? watched.notice;
    if (notice) snapshot.notice = notice;
    const { job } = watched;
    const how = howItIs(job);
    if (how !== 'stopped' || options.signal.aborted) {
      display.finish(snapshot);
      return { how, job };
    }
    if (options.live) display.update(snapshot);
  }
  // The job finished and its next run started between two reads.
  display.finish(last!.snapshot);
  return { how: 'over', job: last!.job };
}

export function howItIs(job: ShownJob): FollowEnd['how'] {
  return isFinished(job.state) ? 'over' : standsStill(job) ? 'waits' : 'stopped';
}

/** True if no row runs and none will start before the job is resumed. */
export function standsStill({ state, sealed, counts, held }: ShownJob): boolean {
  if (!sealed || counts.PROCESSING > 0) return false;
  return state === 'PAUSED' || (held > 0 && counts.PENDING === held);
}

function snapshots(): (watched: WatchedJob) => ProgressSnapshot {
  const startedMs = monotonicMs();
  return ({ job, errors }) => {
    const { counts, jobId, pipeline, state, unfinished, workers, eta } = job;
    const total = job.sealed ? job.itemCount : null;
    const runMs = job.startedAt
      ? (job.finishedAt ? Date.parse(job.finishedAt) : wallClockMs()) - Date.parse(job.startedAt)
      : monotonicMs() - startedMs;
    return {
      jobId,
      pipeline,
      state,
      total,
      ingested: job.itemCount,
      counts,
      unfinished,
      ...(job.generation > 1 && { rerun: { number: job.generation, ended: job.endedThisRun } }),
      itemsPerSecond: job.perSecond,
      rateWindowMs: job.rateWindowMs,
      eta: eta && { lowMs: untilMs(eta.low), highMs: eta.high === null ? null : untilMs(eta.high) },
      elapsedMs: Math.max(0, runMs),
      errorGroups: errors.map((group) => ({
        signature: group.signature,
        sample: group.sample,
        count: group.occurrences,
        rows: group.rows,
        phase: job.phases[group.phase] ?? String(group.phase),
      })),
      workers,
      limitedBy: job.waitingBecause.rateLimit ?? null,
    };
  };
}

function untilMs(time: string): number {
  return Math.max(0, Date.parse(time) - wallClockMs());
}
