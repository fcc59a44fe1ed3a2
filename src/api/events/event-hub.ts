// The only reader of events and progress in a process. While streams are open it polls a few times a second, once for
// all of them. A new stream, or one that fell behind, first reads the events it missed from the table and then joins
// the others.

import { isFinished } from '../../core/jobs/job-state.ts';
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
import { progressTimes, showLiveProgress } from '../jobs/show-live-progress.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import { CounterWatch } from './counter-watch.ts';
import { EventStream, type EventStreamOptions } from './event-stream.ts';

const PAGE = 500;
/** Maximum number of open jobs, newest first, whose progress is sent to streams of all jobs of an owner. */
const MAX_OPEN_JOBS = 500;
const NO_OWNERS = { owners: [], limit: 0 };

export class EventHub {
  readonly #engine: EngineContext;
  readonly #onError: (error: unknown) => void;
  readonly #streams = new Set<EventStream>();
  /** Streams that have all events up to `#position`. */
  readonly #live = new Set<EventStream>();
  readonly #counters = new CounterWatch();
  readonly #stopping = new AbortController();
  #position = 0;
  /** Jobs that were open at the last poll: their last progress is sent too. */
  #wereOpen = new Set<string>();
  #loop: Promise<void> | null = null;
  #starting: Promise<void> | null = null;

  constructor(engine: EngineContext, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#onError = onError;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** Bytes that clients have not read yet. */
  get heldBytes(): number {
    return [...this.#streams].reduce((sum, stream) => sum + stream.heldBytes, 0);
  }

  /** Without `lastEventId` the stream starts with the next event. */
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
      throw new RowmillError('DATABASE_UNREACHABLE', 'the server is stopping');
    const count = [...this.#streams].filter((stream) => stream.caller === caller).length;
    if (count >= most)
      throw new RetryLaterError(
        'TOO_MANY_STREAMS',
        `expected at most ${most} streams at once (streamsAtOnce)`,
        // By then a disconnected client has been noticed.
        this.#engine.settings.streamHeartbeatMs,
      );
  }

  /** Starts at the current end of the table, before the first stream or after a time without streams. */
  async #begin(): Promise<void> {
    if (this.#loop !== null) return;
    this.#starting ??= (async () => {
      await numberEvents(this.#engine);
      const { last } = await readEventPositions(this.#engine.db);
      // Another stream may have started the loop meanwhile.
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
    const found = await readLiveProgress(db, { ...watched, ...progressTimes(this.#engine.settings) });
    this.#wereOpen = new Set(found.filter(({ state }) => !isFinished(state)).map(({ jobId }) => jobId));
    for (const progress of found) this.#tellProgress(progress);
    const isFound = new Set(found.map(({ jobId }) => jobId));
    for (const stream of this.#live) stream.forgetProgress(isFound);
    await this.#counters.look(db, this.#live);
  }

  /**
   * Sends an event to all streams that are up to date, synchronously, so that a stream that joins has every earlier
   * event.
   */
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
    const progress = showLiveProgress(live);
    const text = JSON.stringify(progress);
    for (const stream of this.#live) if (isOf(live, stream)) stream.tellProgress(progress, text);
  }

  /** Reads the events the stream missed, page by page as its client reads them, until it is up to date. */
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
