// Follows one job until its current generation finishes.
import type { ProgressEvent } from '../contract/events.ts';
import { isFinished } from '../core/jobs/job-state.ts';
import { type FollowedEvent, readEvents, type StreamOptions } from './follow-events.ts';
import type { RouteMethods } from './route-call.ts';
import type { Connection } from './send-request.ts';

const LAST_KINDS: readonly string[] = ['job.finished', 'job.failed', 'job.deleted'];

/**
 * Reads the job whenever a stream opens, because the event of its end may be missing: the job finished before the first
 * stream, or the server no longer has all events. The first event has the current state, the last one the outcome.
 */
export async function* followJob(
  connection: Connection,
  getJob: RouteMethods['getJob'],
  jobId: string,
  options: StreamOptions,
): AsyncGenerator<FollowedEvent> {
  let generation = 0;
  let wasOpen = false;
  let missed = false;
  let endedUntold = false;
  const lookAtJob = async (): Promise<FollowedEvent[]> => {
    const job = await getJob({ jobId }, { signal: options.signal });
    if (!wasOpen) generation = job.generation;
    const isOver = isFinished(job.state) || job.generation > generation;
    // Otherwise the event of the end is still to come.
    endedUntold = isOver && (!wasOpen || missed);
    wasOpen = true;
    return [{ type: 'progress', ...progressOf(job) }];
  };
  const onMissed = (): void => {
    missed = true;
    options.onMissed?.();
  };
  const address = `/api/v1/jobs/${encodeURIComponent(jobId)}/events`;
  for await (const event of readEvents(connection, address, { ...options, onMissed }, lookAtJob)) {
    if (event.type === 'counter') continue;
    yield event;
    if (endedUntold) return;
    if (event.type === 'progress') continue;
    // Events of an earlier generation may be repeated; an event of a later one means that this one is over.
    const isLast = LAST_KINDS.includes(event.kind) && event.generation >= generation;
    if (isLast || event.generation > generation) return;
  }
}

/** The progress of a job that was read, as an event would carry it. */
function progressOf(job: Awaited<ReturnType<RouteMethods['getJob']>>): ProgressEvent {
  const { jobId, state, generation, itemCount, counts, unfinished, perSecond, rateWindowMs } = job;
  const { eta, etaUnknownBecause, cost, costUnit, workers } = job;
  return {
    jobId,
    state,
    generation,
    itemCount,
    counts,
    unfinished,
    perSecond,
    rateWindowMs,
    eta,
    etaUnknownBecause,
    cost,
    costUnit,
    workers,
  };
}
