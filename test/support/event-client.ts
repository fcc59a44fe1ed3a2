// A client of server-sent events that keeps all events and can wait for one.
import { createParser, type EventSourceMessage } from 'eventsource-parser';

export interface EventClient {
  readonly status: number;
  readonly events: EventSourceMessage[];
  readonly comments: string[];
  /** Resolves as soon as the predicate holds; rejects if the stream ends before. */
  until(test: () => boolean): Promise<void>;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  close(): void;
}

export async function listen(url: string, headers: Record<string, string> = {}): Promise<EventClient> {
  const gone = new AbortController();
  const response = await fetch(url, { headers, signal: gone.signal });
  const events: EventSourceMessage[] = [];
  const comments: string[] = [];
  const waiters = new Set<{ test: () => boolean; resolve: () => void; reject: (error: Error) => void }>();
  const look = (): void => {
    for (const waiter of waiters) {
      if (!waiter.test()) continue;
      waiters.delete(waiter);
      waiter.resolve();
    }
  };
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: (comment) => comments.push(comment),
  });
  const ended = (async () => {
    try {
      const decoder = new TextDecoder();
      for await (const chunk of response.body!) {
        parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
        look();
      }
    } catch {
      // Either side closed the connection.
    }
    for (const waiter of waiters) waiter.reject(new Error('the stream has ended'));
  })();
  return {
    status: response.status,
    events,
    comments,
    ended,
    until: (test) =>
      test()
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            waiters.add({ test, resolve, reject });
          }),
    close: () => gone.abort(),
  };
}
