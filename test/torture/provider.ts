// The paid service of the torture: it answers by a row's number, fails at random with temporary errors, and counts
// calls, repeated calls and concurrent calls per limit.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectedStatus, priceOf } from './expected-rows.ts';

export interface Provider {
  url: string;
  readonly figures: ProviderFigures;
  stop(): void;
}

export interface ProviderFigures {
  calls: number;
  answered: number;
  repeated: number;
  injected: Record<string, number>;
  /** Highest number of concurrent calls, per limit. */
  most: Record<string, number>;
}

export async function startProvider(random: () => number): Promise<Provider> {
  const figures: ProviderFigures = { calls: 0, answered: 0, repeated: 0, injected: {}, most: {} };
  const underWay = new Map<string, number>();
  const paid = new Set<string>();

  function inject(name: string): void {
    figures.injected[name] = (figures.injected[name] ?? 0) + 1;
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
      response.destroy();
    } else if (draw < 0.063) {
      inject('hang');
      await once(response, 'close');
    } else return false;
    return true;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await json(request);
    figures.calls += 1;
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
    figures.answered += 1;
    if (paid.has(idempotencyKey)) figures.repeated += 1;
    paid.add(idempotencyKey);
    response.end(JSON.stringify({ price: status === 'DONE' ? priceOf(n) : null }));
  }

  const server = createServer((request, response) => {
    const limit = request.url ?? '';
    const now = (underWay.get(limit) ?? 0) + 1;
    underWay.set(limit, now);
    figures.most[limit] = Math.max(figures.most[limit] ?? 0, now);
    response.once('close', () => underWay.set(limit, underWay.get(limit)! - 1));
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    figures,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
