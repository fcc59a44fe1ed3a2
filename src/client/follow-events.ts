// Server-sent events as an async iterator that survives lost connections: it reconnects with the id of the last event,
// after a growing pause. A server that is silent for too long is treated as disconnected.
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { EVENT_KINDS } from '../contract/event-kinds.ts';
import type { CounterEvent, JobEvent, ProgressEvent } from '../contract/events.ts';
import { backoffMs, halfJitter } from '../core/retries/backoff.ts';
import { RowmillApiError } from './rowmill-api-error.ts';
import { type Connection, retryWaitMs, sendRequest } from './send-request.ts';
import { randomFraction, waitMs } from './surroundings.ts';

export type FollowedEvent =
  | ({ type: 'lifecycle' } & JobEvent)
  /** Has no position, because the next progress event replaces it. */
  | ({ type: 'progress' } & ProgressEvent);

/** The stream of all jobs also has events of counters. */
export type StreamedEvent = FollowedEvent | ({ type: 'counter' } & CounterEvent);

export interface StreamOptions {
  signal?: AbortSignal | undefined;
  /** Id of the last event that was received before; the stream starts after it. */
  lastEventId?: number | undefined;
  /** Called if the server no longer has all events since the last one. A caller that caches jobs must reload them. */
  onMissed?: (() => void) | undefined;
  /** Called on every connection, including the first. */
  onConnect?: (() => void) | undefined;
  /** Called before each pause between two connections. */
  onReconnect?: ((reason: unknown, waitMs: number) => void) | undefined;
  /** Silence after which the client reconnects. Default: twice the heartbeat of the server, plus one second. */
  silentMs?: number | undefined;
}

/** Allowed silence until the stream is open, and for servers that do not announce their heartbeat. */
const SILENT_MS = 20_000;
/** Tolerance for a late heartbeat. */
const LATE_MS = 1000;

/** Silence after which a server with this heartbeat is treated as disconnected. One heartbeat may get lost. */
export function silenceMs(heartbeatMs: number): number {
  return 2 * heartbeatMs + LATE_MS;
}
const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 15_000;

/** Ends only when its signal aborts, or if the caller may not see the events. */
export async function* readEvents(
  connection: Connection,
  address: string,
  options: StreamOptions,
  /** Called whenever a stream opens. The events it returns come before those of the stream. */
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

/** State that survives a connection. */
interface Place {
  /** Id of the last event that the caller received, or the start of the stream. */
  lastEventId: number | undefined;
  /** The retry delay that the server requests. */
  firstWaitMs: number;
}

/** False for refusals, which would be repeated. Everything else counts as a lost connection. */
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
        // From this id on, no event can get lost between two connections.
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
      // Set before the yield: a consumer that stops here has received the event.
      place.lastEventId = numberOf(id) ?? place.lastEventId;
      yield event;
    }
  } finally {
    silence.stop();
    options.signal?.removeEventListener('abort', end);
    // The consumer may have stopped early, so close the connection.
    ended.abort();
  }
}

function watchSilence(
  firstMs: number,
  onSilence: () => void,
): {
  stream: () => TransformStream<Uint8Array, Uint8Array>;
  /** Sets the allowed silence from now on. */
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

/** Null for unknown kinds, which a newer server may send. */
function toEvent(kind: string | undefined, data: string): StreamedEvent | null {
  const parsed = JSON.parse(data) as never;
  if (kind === 'progress') return { type: 'progress', ...(parsed as ProgressEvent) };
  if (kind === 'counter') return { type: 'counter', ...(parsed as CounterEvent) };
  return (EVENT_KINDS as readonly (string | undefined)[]).includes(kind)
    ? { type: 'lifecycle', ...(parsed as JobEvent) }
    : null;
}
