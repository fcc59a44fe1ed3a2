// Watches a job until it is finished and feeds the progress display.
import { isFinished, type JobState } from '../core/job-state.ts';
import type { Rowmill } from '../open-rowmill.ts';
import { monotonicMs, waitMs, wallClockMs } from '../platform/clock.ts';
import { isDumbTerminal } from '../platform/environment.ts';
import type { Progress, Summary } from '../store/views/read-progress.ts';
import { createProgressDisplay } from './progress-display.ts';
import type { ProgressSnapshot } from './progress-lines.ts';

const REFRESH_MS = 200;
const RATE_WINDOW_MS = 5000;
const TOP_ERRORS = 5;

export interface FollowOptions {
  signal: AbortSignal;
  /** Without it only the summary is shown. */
  live: boolean;
  notice?: () => string | undefined;
}

/** The summary, or null when the signal fired first, or everything that is left is held until its owner resumes it. */
export async function followJob(
  rowmill: Rowmill,
  jobId: string,
  options: FollowOptions,
): Promise<Summary | null> {
  const stream = process.stdout;
  const display = createProgressDisplay({ stream, isTty: stream.isTTY === true && !isDumbTerminal() });
  const startedMs = monotonicMs();
  const window: { atMs: number; ended: number }[] = [];
  for (;;) {
    const snapshot = await readSnapshot(rowmill, jobId, startedMs, window);
    const notice = options.notice?.();
    if (notice) snapshot.notice = notice;
    const over = isFinished(snapshot.state);
    if (over || snapshot.waits || options.signal.aborted) {
      display.finish(snapshot);
      return over ? rowmill.summary(jobId) : null;
    }
    if (options.live) display.update(snapshot);
    await waitMs(REFRESH_MS, options.signal);
  }
}

function standsStill(state: JobState, isSealed: boolean, { counts, held }: Progress): boolean {
  if (!isSealed || counts.PROCESSING > 0) return false;
  return state === 'PAUSED' || (held > 0 && counts.PENDING === held);
}

async function readSnapshot(
  rowmill: Rowmill,
  jobId: string,
  startedMs: number,
  window: { atMs: number; ended: number }[],
): Promise<ProgressSnapshot & { waits: boolean }> {
  const [job, progress, groups] = await Promise.all([
    rowmill.job(jobId),
    rowmill.progress(jobId),
    rowmill.errorGroups(jobId, TOP_ERRORS),
  ]);
  const { counts } = progress;
  const ended = counts.DONE + counts.ERROR + counts.NOT_FOUND + counts.SKIPPED + counts.CANCELLED;
  const nowMs = monotonicMs();
  window.push({ atMs: nowMs, ended });
  while (window.length > 2 && nowMs - window[0]!.atMs > RATE_WINDOW_MS) window.shift();
  const first = window[0]!;
  const itemsPerSecond = nowMs > first.atMs ? ((ended - first.ended) / (nowMs - first.atMs)) * 1000 : 0;
  const total = job.sealedAt === null ? null : job.itemCount;
  const runMs = job.startedAt
    ? (job.finishedAt?.getTime() ?? wallClockMs()) - job.startedAt.getTime()
    : nowMs - startedMs;
  return {
    jobId,
    pipeline: job.pipeline,
    state: job.state,
    total,
    ingested: job.itemCount,
    counts,
    retrying: progress.retrying,
    held: progress.held,
    waits: standsStill(job.state, total !== null, progress),
    itemsPerSecond,
    etaMs: total === null || itemsPerSecond <= 0 ? null : ((total - ended) / itemsPerSecond) * 1000,
    elapsedMs: Math.max(0, runMs),
    errorGroups: groups.map((group) => ({
      signature: group.signature,
      sample: group.sample,
      count: group.occurrences,
      phase: job.phases[group.phase] ?? String(group.phase),
    })),
    workers: progress.workers,
  };
}
