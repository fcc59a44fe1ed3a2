// A service as the outside world has them: it notes when calls come, and how many are there at once, by the path.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Call {
  key: string;
  /** When the client says it began it, on the same clock. */
  sentMs: number;
  atMs: number;
  /** When it was answered, or its client was gone. */
  endMs: number;
}

export interface CountingServer {
  readonly url: string;
  readonly calls: readonly Call[];
  readonly now: number;
  /** Calls at once, at the most, of any key or of one. */
  most(key?: string): number;
  /** Resolves as soon as that many calls have come. */
  whenCalled(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startCountingServer(answerMs: number): Promise<CountingServer> {
  const calls: Call[] = [];
  const waiters: { count: number; resolve: () => void }[] = [];
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://service');
    const call: Call = {
      key: url.pathname.slice(1),
      sentMs: Number(url.searchParams.get('sentMs')) - performance.timeOrigin,
      atMs: performance.now(),
      endMs: Number.POSITIVE_INFINITY,
    };
    calls.push(call);
    const timer = setTimeout(() => {
      call.endMs = performance.now();
      response.end('ok');
    }, answerMs);
    response.once('close', () => {
      clearTimeout(timer);
      call.endMs = Math.min(call.endMs, performance.now());
    });
    for (const waiter of [...waiters]) if (calls.length >= waiter.count) waiter.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get now() {
      return performance.now();
    },
    most: (key) => mostAtOnce(calls.filter((call) => key === undefined || call.key === key)),
    whenCalled: (count) =>
      new Promise((resolve) => {
        if (calls.length >= count) resolve();
        else waiters.push({ count, resolve });
      }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function mostAtOnce(calls: readonly Call[]): number {
  const changes = calls.flatMap(({ atMs, endMs }) => [
    { ms: atMs, by: 1 },
    { ms: endMs, by: -1 },
  ]);
  changes.sort((a, b) => a.ms - b.ms || a.by - b.by);
  let now = 0;
  let most = 0;
  for (const { by } of changes) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

/** Calls at once, on average between two times. */
export function averageAtOnce(calls: readonly Call[], fromMs: number, toMs: number): number {
  let busyMs = 0;
  for (const { atMs, endMs } of calls) busyMs += Math.max(0, Math.min(endMs, toMs) - Math.max(atMs, fromMs));
  return busyMs / (toMs - fromMs);
}

/** Starts in the busiest stretch of this length, as the client says or as they arrived. */
export function mostStartsIn(calls: readonly Call[], ms: number, by: 'sentMs' | 'atMs'): number {
  const times = calls.map((call) => call[by]).sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (let last = 0; last < times.length; last += 1) {
    while (times[last]! - times[first]! >= ms) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
