// Server-sent events as an async iterator that outlives its connections: it comes back with the id of the last event it
// saw, after a pause that grows. A server that stays silent for too long is taken for gone.
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { EVENT_KINDS } from '../contract/event-kinds.ts';
import type { CounterEvent, JobEvent, ProgressEvent } from '../contract/events.ts';
import { backoffMs, halfJitter } from '../core/retries/backoff.ts';
import { RowmillApiError } from './rowmill-api-error.ts';
import { type Connection, retryWaitMs, sendRequest } from './send-request.ts';
import { randomFraction, waitMs } from './surroundings.ts';

export type FollowedEvent =
  | ({ type: 'lifecycle' } & JobEvent)
  /** Has no position: the next one says it all. */
  | ({ type: 'progress' } & ProgressEvent);

/** On the stream of all jobs counters are told of too. */
export type StreamedEvent = FollowedEvent | ({ type: 'counter' } & CounterEvent);

export interface StreamOptions {
  signal?: AbortSignal | undefined;
  /** Of an event that was seen before; events after it come first. */
  lastEventId?: number | undefined;
  /** Told when the server has no longer all events since the last one: who keeps a picture of jobs has to look again. */
  onMissed?: (() => void) | undefined;
  /** Told whenever events come again, also the first time. */
  onConnect?: (() => void) | undefined;
  /** Told of each pause between two connections. */
  onReconnect?: ((reason: unknown, waitMs: number) => void) | undefined;
  /** Without a sign for so long, the connection is made anew. Default: twice what the server says, and a little more. */
  silentMs?: number | undefined;
}

/** Until the stream is open, and for servers that do not say how often they give a sign. */
const SILENT_MS = 20_000;
/** A sign that comes this late is not missing. */
const LATE_MS = 1000;

/** Silence after which a server that gives a sign this often is taken for gone: one sign may get lost. */
export function silenceMs(heartbeatMs: number): number {
  return 2 * heartbeatMs + LATE_MS;
}
const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 15_000;

/** Ends only by its signal, or when the caller may not see the events. */
export async function* readEvents(
  connection: Connection,
  address: string,
  options: StreamOptions,
  /** Called whenever a stream is open; what it gives is put before its events. */
  onOpen: () => Promise<FollowedEvent[]> = async () => [],
): AsyncGenerator<StreamedEvent> {
  const place: Place = { lastEventId: options.lastEventId, firstWaitMs: BACKOFF_FIRST_MS };
  let failures = 0;
  for (;;) {
    let reason: unknown = null;
    try {
      for await (const event of readOnce(connection, address, place, options, onOpen)) {
        failures = 0;
        yield event;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!isPassing(error)) throw error;
      reason = error;
    }
    options.signal?.throwIfAborted();
    const backoff = { firstMs: place.firstWaitMs, capMs: BACKOFF_MAX_MS };
    const backedOffMs = backoffMs(backoff, failures, halfJitter(randomFraction()));
    failures += 1;
    const wait = Math.max(backedOffMs, askedWaitMs(reason));
    options.onReconnect?.(reason, wait);
    await waitMs(wait, options.signal);
  }
}

/** What outlives a connection. */
interface Place {
  /** Of the last event that the caller has had, or where the stream began. */
  lastEventId: number | undefined;
  /** As the server asks for it. */
  firstWaitMs: number;
}

/** Refusals stay what they are; everything else is a connection that ended. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof RowmillApiError)) return true;
  return error.status === 0 || error.status >= 500 || error.status === 429;
}

function askedWaitMs(error: unknown): number {
  return retryWaitMs(error, 0) !== null ? ((error as RowmillApiError).retryAfterMs ?? 0) : 0;
}

async function* readOnce(
  connection: Connection,
  address: string,
  place: Place,
  options: StreamOptions,
  onOpen: () => Promise<FollowedEvent[]>,
): AsyncGenerator<StreamedEvent> {
  const { lastEventId } = place;
  const ended = new AbortController();
  const end = (): void => ended.abort(options.signal?.reason);
  if (options.signal?.aborted) end();
  options.signal?.addEventListener('abort', end, { once: true });
  const silence = watchSilence(options.silentMs ?? SILENT_MS, () =>
    ended.abort(new Error('the server was silent for too long')),
  );
  try {
    const response = await sendRequest(
      { ...connection, maxRetries: 0 },
      { method: 'GET', address, accept: 'text/event-stream' },
      {
        signal: ended.signal,
        ...(lastEventId !== undefined && { headers: { 'last-event-id': String(lastEventId) } }),
      },
    );
    const messages = (response.body as ReadableStream<Uint8Array>)
      .pipeThrough(silence.stream())
      .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
      .pipeThrough(
        new EventSourceParserStream({
          onRetry: (ms) => {
            place.firstWaitMs = ms;
          },
        }),
      )
      .getReader();
    let isOpen = false;
    for (;;) {
      const { value, done } = await messages.read();
      if (done) return;
      const { event: kind, data, id } = value;
      if (kind === 'open') {
        // From here on nothing can get lost between two connections.
        place.lastEventId = numberOf(id) ?? place.lastEventId;
        const { missed, heartbeatMs } = JSON.parse(data) as { missed?: boolean; heartbeatMs?: number };
        if (missed) options.onMissed?.();
        if (options.silentMs === undefined && heartbeatMs !== undefined)
          silence.allow(silenceMs(heartbeatMs));
      }
      if (!isOpen) {
        options.onConnect?.();
        yield* await onOpen();
      }
      isOpen = true;
      const event = toEvent(kind, data);
      if (!event) continue;
      // Before it is handed over: who leaves in the middle of it has had it.
      place.lastEventId = numberOf(id) ?? place.lastEventId;
      yield event;
    }
  } finally {
    silence.stop();
    options.signal?.removeEventListener('abort', end);
    // The consumer may have stopped in the middle: the connection is let go.
    ended.abort();
  }
}

function watchSilence(
  firstMs: number,
  onSilence: () => void,
): {
  stream: () => TransformStream<Uint8Array, Uint8Array>;
  /** From now on silence may last this long. */
  allow: (ms: number) => void;
  stop: () => void;
} {
  let silentMs = firstMs;
  let timer = setTimeout(onSilence, silentMs);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(onSilence, silentMs);
  };
  return {
    allow: (ms) => {
      silentMs = ms;
      heard();
    },
    stream: () =>
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          heard();
          controller.enqueue(chunk);
        },
      }),
    stop: () => clearTimeout(timer),
  };
}

function numberOf(id: string | undefined): number | undefined {
  return id !== undefined && /^\d+$/.test(id) ? Number(id) : undefined;
}

/** Null for kinds that a newer server may have. */
function toEvent(kind: string | undefined, data: string): StreamedEvent | null {
  const parsed = JSON.parse(data) as never;
  if (kind === 'progress') return { type: 'progress', ...(parsed as ProgressEvent) };
  if (kind === 'counter') return { type: 'counter', ...(parsed as CounterEvent) };
  return (EVENT_KINDS as readonly (string | undefined)[]).includes(kind)
    ? { type: 'lifecycle', ...(parsed as JobEvent) }
    : null;
}
