// The paid service of the torture: it answers by a row's number, fails at random with temporary errors, counts calls
// and repeated calls, and checks the number of concurrent calls per limit.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConcurrentCalls } from './concurrent-calls.ts';
import { CONCURRENCY, expectedStatus, priceOf } from './expected-rows.ts';

export interface Provider {
  url: string;
  readonly figures: ProviderFigures;
  /** Limits that were exceeded. */
  violations(): readonly string[];
  stop(): void;
}

export interface ProviderFigures {
  calls: number;
  answered: number;
  repeated: number;
  injected: Record<string, number>;
  /** Highest number of concurrent calls, per limit. */
  most: Record<string, number>;
  /** Times at which a limit was exceeded only because given-up calls were still open here. */
  excused: number;
}

export async function startProvider(random: () => number): Promise<Provider> {
  const concurrent = new ConcurrentCalls((path) => (path === '/many' ? CONCURRENCY.bulk : CONCURRENCY.shop));
  const counts = { calls: 0, answered: 0, repeated: 0, injected: {} as Record<string, number> };
  const paid = new Set<string>();

  function inject(name: string): void {
    counts.injected[name] = (counts.injected[name] ?? 0) + 1;
  }

  /** Returns true if a fault answered the call or cut its connection. */
  async function failAtRandom(response: ServerResponse): Promise<boolean> {
    const draw = random();
    if (draw < 0.02) {
      inject('429');
      response.writeHead(429, { 'retry-after': '1' }).end();
    } else if (draw < 0.05) {
      inject('503');
      response.writeHead(503).end();
    } else if (draw < 0.06) {
      inject('cut');
      response.destroy(new Error('cut'));
    } else if (draw < 0.063) {
      inject('hang');
      await once(response, 'close');
    } else return false;
    return true;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await json(request);
    counts.calls += 1;
    await sleep(5 + random() * 40);
    if (await failAtRandom(response)) return;
    if (request.url === '/many') {
      response.end(JSON.stringify((body as number[]).map(priceOf)));
      return;
    }
    const { n, idempotencyKey } = body as { n: number; idempotencyKey: string };
    const status = expectedStatus(n);
    if (status === 'ERROR') {
      response.writeHead(400).end();
      return;
    }
    if (response.destroyed) return;
    counts.answered += 1;
    if (paid.has(idempotencyKey)) counts.repeated += 1;
    paid.add(idempotencyKey);
    response.end(JSON.stringify({ price: status === 'DONE' ? priceOf(n) : null }));
  }

  const server = createServer((request, response) => {
    const call = concurrent.start(request.url ?? '', String(request.headers.worker), performance.now());
    const { socket } = request;
    response.once('close', () => {
      // An error means that the provider cut the connection itself.
      const isGivenUp = !response.errored && (!response.writableFinished || socket.readableEnded);
      concurrent.end(call, isGivenUp, performance.now());
    });
    answer(request, response).catch((error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get figures() {
      const { most, excused } = concurrent;
      return { ...counts, most, excused };
    },
    violations: () => concurrent.violations(performance.now()),
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
