// The one reader of events and progress of a process. While somebody listens it looks a few times a second, once for all
// streams; a stream that comes, or falls behind, reads the events it lacks from the table and then joins the others.

import type { ProgressEvent } from '../../contract/events.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import { recentRate } from '../../core/jobs/recent-rate.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { numberEvents } from '../../engine/jobs/record-change.ts';
import { waitMs } from '../../platform/clock.ts';
import {
  readEventPositions,
  readJobEvents,
  type StoredJobEvent,
} from '../../store/views/events/read-job-events.ts';
import { type LiveProgress, readLiveProgress } from '../../store/views/jobs/read-live-progress.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import { CounterWatch } from './counter-watch.ts';
import { EventStream, type EventStreamOptions } from './event-stream.ts';

const PAGE = 500;
/** Open jobs whose progress is told to those who listen to all of theirs: the newest. */
const MAX_OPEN_JOBS = 500;
const NO_OWNERS = { owners: [], limit: 0 };

export class EventHub {
  readonly #engine: EngineContext;
  readonly #onError: (error: unknown) => void;
  readonly #streams = new Set<EventStream>();
  /** Those that know all events up to `#position`. */
  readonly #live = new Set<EventStream>();
  readonly #counters = new CounterWatch();
  readonly #stopping = new AbortController();
  #position = 0;
  /** Jobs that were open at the last look: their end is told too. */
  #wereOpen = new Set<string>();
  #loop: Promise<void> | null = null;
  #starting: Promise<void> | null = null;

  constructor(engine: EngineContext, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#onError = onError;
  }

  /** Streams that are open at present. */
  get streamCount(): number {
    return this.#streams.size;
  }

  /** Bytes that clients have not taken yet. */
  get heldBytes(): number {
    return [...this.#streams].reduce((sum, stream) => sum + stream.heldBytes, 0);
  }

  /** `lastEventId` undefined: from now on. */
  async listen(
    request: Pick<EventStreamOptions, 'caller' | 'scope' | 'mayListen'> & { lastEventId: number | undefined },
  ): Promise<EventStream> {
    const { streamsAtOnce, streamHeartbeatMs, apiIdleMs } = this.#engine.settings;
    this.#checkCount(request.caller, streamsAtOnce);
    await this.#begin();
    const { last, pruned } = await readEventPositions(this.#engine.db);
    this.#checkCount(request.caller, streamsAtOnce);
    const asked = request.lastEventId;
    const position = Math.min(asked ?? this.#position, last);
    const { caller, scope, mayListen } = request;
    const stream = new EventStream({
      caller,
      scope,
      mayListen,
      position,
      heartbeatMs: streamHeartbeatMs,
      idleMs: apiIdleMs,
    });
    this.#streams.add(stream);
    stream.ended.addEventListener('abort', () => {
      this.#streams.delete(stream);
      this.#live.delete(stream);
    });
    stream.open(asked !== undefined && asked < pruned);
    this.#loop ??= this.#watch();
    void this.#catchUp(stream);
    return stream;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const stream of this.#streams) stream.end();
    await this.#loop;
  }

  #checkCount(caller: string, most: number): void {
    if (this.#stopping.signal.aborted)
      throw new RowmillError('DATABASE_UNREACHABLE', 'the server is about to stop');
    const count = [...this.#streams].filter((stream) => stream.caller === caller).length;
    if (count >= most)
      throw new RetryLaterError(
        'TOO_MANY_STREAMS',
        `expected at most ${most} streams at once (streamsAtOnce)`,
        // By then a client that is gone has been noticed.
        this.#engine.settings.streamHeartbeatMs,
      );
  }

  /** Before the first stream, or after a time without any: from where the table is now. */
  async #begin(): Promise<void> {
    if (this.#loop !== null) return;
    this.#starting ??= (async () => {
      await numberEvents(this.#engine);
      const { last } = await readEventPositions(this.#engine.db);
      // Somebody may have begun to listen meanwhile, from where it was.
      if (this.#loop === null) this.#position = last;
    })().finally(() => {
      this.#starting = null;
    });
    await this.#starting;
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      while (!signal.aborted && this.#streams.size > 0) {
        await this.#look().catch(this.#onError);
        await waitMs(this.#engine.settings.streamProgressMs, signal);
      }
    } finally {
      this.#loop = null;
      this.#wereOpen.clear();
    }
  }

  async #look(): Promise<void> {
    const { db } = this.#engine;
    await numberEvents(this.#engine);
    for (let isMore = true; isMore; ) {
      const between = { after: this.#position, upTo: Number.MAX_SAFE_INTEGER, limit: PAGE };
      const events = await readJobEvents(db, { owners: null }, between);
      for (const event of events) this.#tell(event);
      isMore = events.length === PAGE;
    }
    const watched = this.#watched();
    if (watched === null) return;
    const found = await readLiveProgress(db, watched.jobIds, watched.open);
    this.#wereOpen = new Set(found.filter(({ state }) => !isFinished(state)).map(({ jobId }) => jobId));
    for (const progress of found) this.#tellProgress(progress);
    const isFound = new Set(found.map(({ jobId }) => jobId));
    for (const stream of this.#live) stream.forgetProgress(isFound);
    await this.#counters.look(db, this.#live);
  }

  /** To all that are up to date, in one turn of the loop: whoever joins has seen all before it. */
  #tell(event: StoredJobEvent): void {
    this.#position = event.position;
    for (const stream of this.#live) {
      if (isOf(event, stream)) stream.tell(event);
      else stream.passTo(event.position);
      if (!stream.isBlocked) continue;
      this.#live.delete(stream);
      void this.#catchUp(stream);
    }
  }

  #watched(): { jobIds: string[]; open: { owners: string[] | null; limit: number } } | null {
    if (this.#live.size === 0) return null;
    const jobIds = new Set(this.#wereOpen);
    let owners: Set<string> | null = new Set<string>();
    for (const { scope } of this.#live) {
      if ('jobId' in scope) jobIds.add(scope.jobId);
      else if (scope.owners === null) owners = null;
      else for (const owner of scope.owners) owners?.add(owner);
    }
    const open =
      owners === null || owners.size > 0
        ? { owners: owners === null ? null : [...owners], limit: MAX_OPEN_JOBS }
        : NO_OWNERS;
    return { jobIds: [...jobIds], open };
  }

  #tellProgress(live: LiveProgress): void {
    const { ownerId: _, lastMinute, runningMs, ...rest } = live;
    const progress: ProgressEvent = { ...rest, ...recentRate(lastMinute, runningMs) };
    const text = JSON.stringify(progress);
    for (const stream of this.#live) if (isOf(live, stream)) stream.tellProgress(progress, text);
  }

  /** Reads what the stream lacks, page by page as its client takes them, until it knows what the others know. */
  async #catchUp(stream: EventStream): Promise<void> {
    while (!stream.ended.aborted) {
      await stream.whenTaken();
      if (stream.position >= this.#position) {
        this.#live.add(stream);
        return;
      }
      const upTo = this.#position;
      try {
        const between = { after: stream.position, upTo, limit: PAGE };
        const events = await readJobEvents(this.#engine.db, stream.scope, between);
        for (const event of events) {
          await stream.whenTaken();
          if (stream.ended.aborted) return;
          stream.tell(event);
        }
        if (events.length < PAGE) stream.passTo(upTo);
      } catch (error) {
        this.#onError(error);
        await waitMs(this.#engine.settings.streamProgressMs, stream.ended);
      }
    }
  }
}

function isOf({ jobId, ownerId }: { jobId: string; ownerId: string }, { scope }: EventStream): boolean {
  if ('jobId' in scope) return scope.jobId === jobId;
  return scope.owners === null || scope.owners.includes(ownerId);
}
