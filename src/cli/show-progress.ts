// Watches a job until it finishes or stops, and feeds the progress display.
import { isFinished } from '../core/jobs/job-state.ts';
import { monotonicMs, wallClockMs } from '../platform/clock.ts';
import { isDumbTerminal } from '../platform/environment.ts';
import { createProgressDisplay } from './progress-display.ts';
import type { ProgressSnapshot } from './progress-lines.ts';
import type { JobPort, ShownJob, WatchedJob } from './remote/job-port.ts';
import type { WorkerOutput } from './worker-output.ts';

const RATE_WINDOW_MS = 5000;

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
  const window: { atMs: number; ended: number }[] = [];
  return ({ job, errors, limitedBy }) => {
    const { counts, jobId, pipeline, state, retrying, limited, held, workers } = job;
    const ended = counts.DONE + counts.ERROR + counts.NOT_FOUND + counts.SKIPPED + counts.CANCELLED;
    const nowMs = monotonicMs();
    window.push({ atMs: nowMs, ended });
    while (window.length > 2 && nowMs - window[0]!.atMs > RATE_WINDOW_MS) window.shift();
    const first = window[0]!;
    const itemsPerSecond = nowMs > first.atMs ? ((ended - first.ended) / (nowMs - first.atMs)) * 1000 : 0;
    const total = job.sealed ? job.itemCount : null;
    const runMs = job.startedAt
      ? (job.finishedAt ? Date.parse(job.finishedAt) : wallClockMs()) - Date.parse(job.startedAt)
      : nowMs - startedMs;
    return {
      jobId,
      pipeline,
      state,
      total,
      ingested: job.itemCount,
      counts,
      retrying,
      limited,
      ...(job.generation > 1 && { rerun: { number: job.generation, ended: job.endedThisRun } }),
      held,
      itemsPerSecond,
      etaMs: total === null || itemsPerSecond <= 0 ? null : ((total - ended) / itemsPerSecond) * 1000,
      elapsedMs: Math.max(0, runMs),
      errorGroups: errors.map((group) => ({
        signature: group.signature,
        sample: group.sample,
        count: group.occurrences,
        failed: group.failed,
        phase: job.phases[group.phase] ?? String(group.phase),
      })),
      workers,
      limitedBy,
    };
  };
}
