// One job until the end of the generation that it is in.
import type { ProgressEvent } from '../contract/events.ts';
import { isFinished } from '../core/jobs/job-state.ts';
import { type FollowedEvent, readEvents, type StreamOptions } from './follow-events.ts';
import type { RouteMethods } from './route-call.ts';
import type { Connection } from './send-request.ts';

const LAST_KINDS: readonly string[] = ['job.finished', 'job.failed', 'job.deleted'];

/**
 * The job is looked at whenever a stream is open, so that an end that nobody tells any more is seen too: it was before the
 * first stream, or the server has no longer all events. The first event says how it stands, the last one how it ended.
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
    // Otherwise the event that says so is about to come.
    endedUntold = isOver && (!wasOpen || missed);
    wasOpen = true;
    const { state, itemCount, counts, perSecond, rateWindowMs, cost, workers } = job;
    const progress: ProgressEvent = {
      jobId,
      state,
      generation: job.generation,
      itemCount,
      counts,
      perSecond,
      rateWindowMs,
      cost,
      workers,
    };
    return [{ type: 'progress', ...progress }];
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
    // Events of an earlier generation may be told again; one of the next says that this one is over.
    const isLast = LAST_KINDS.includes(event.kind) && event.generation >= generation;
    if (isLast || event.generation > generation) return;
  }
}
