// One job until the end of the generation that it is in.
import type { ProgressEvent } from '../contract/events.ts';
import { isFinished } from '../core/job-state.ts';
import { type FollowedEvent, readEvents, type StreamOptions } from './follow-events.ts';
import type { RouteMethods } from './route-call.ts';
import type { Connection } from './send-request.ts';

const LAST_KINDS: readonly string[] = ['job.finished', 'job.failed', 'job.deleted'];

/**
 * The job is looked at whenever the events begin to come, so that an end that nobody told is seen too. The first event
 * says how it stands, the last one how it ended.
 */
export async function* followJob(
  connection: Connection,
  getJob: RouteMethods['getJob'],
  jobId: string,
  options: StreamOptions,
): AsyncGenerator<FollowedEvent> {
  let generation: number | null = null;
  let wasFinished = false;
  const lookAtJob = async (): Promise<FollowedEvent[]> => {
    const job = await getJob({ jobId }, { signal: options.signal });
    generation ??= job.generation;
    wasFinished = isFinished(job.state);
    const { state, itemCount, counts, perSecond, cost, workers } = job;
    const progress: ProgressEvent = {
      jobId,
      state,
      generation: job.generation,
      itemCount,
      counts,
      perSecond,
      cost,
      workers,
    };
    return [{ type: 'progress', ...progress }];
  };
  const address = `/api/jobs/${encodeURIComponent(jobId)}/events`;
  for await (const event of readEvents(connection, address, options, lookAtJob)) {
    yield event;
    // While events come, the one that says so is waited for: progress may be told before it.
    const isOver = event.type === 'lifecycle' ? LAST_KINDS.includes(event.kind) : wasFinished;
    // Events of an earlier generation may be told again.
    if (isOver && event.generation >= (generation ?? 0)) return;
    // Another one has begun: the one that was followed is over.
    if (generation !== null && event.generation > generation) return;
  }
}
