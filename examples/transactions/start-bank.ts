/**
 * The two services that the pipeline calls, on loopback. `/screen` scores transactions with some latency, and answers
 * every `refuseEvery`th call with 503 or 429. `/batch-done` receives the callback of a finished batch, and books each
 * message once, however often it is sent: its id is the key, as the unique column of a table would be.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SUSPICIOUS_AMOUNT, UNKNOWN_BANK } from './generate-transactions.ts';

export interface BatchDone {
  jobId: string;
  generation: number;
  state: string;
  outcome: string;
  total: number;
  counts: Record<string, number>;
  files: { name: string; key: string; sha256: string; bytes: number; rows: number | null }[];
}

export interface Bank {
  screeningUrl: string;
  callbackUrl: string;
  /** Booked messages by their id. */
  readonly booked: ReadonlyMap<string, BatchDone>;
  /** Number of deliveries of each message. */
  readonly deliveries: ReadonlyMap<string, number>;
  readonly stats: { calls: number; rows: number; refused: number };
  /** Opens or closes the accounts that were unknown. */
  openAccounts(areOpen: boolean): void;
  /** Makes calls of the screening service wait until this is called again with false. */
  holdScreening(isHeld: boolean): void;
  stop(): Promise<void>;
}

interface Asked {
  id: string;
  to: string;
  amount: number;
}

export async function startBank(options: { latencyMs?: number; refuseEvery?: number } = {}): Promise<Bank> {
  const { latencyMs = 20, refuseEvery = 15 } = options;
  const booked = new Map<string, BatchDone>();
  const deliveries = new Map<string, number>();
  const stats = { calls: 0, rows: 0, refused: 0 };
  let hasNewAccounts = false;
  let held: { answers: (() => void)[] } | null = null;

  const server = createServer((request, response) => {
    void readJson(request).then((body) => {
      if (request.url === '/screen') screen(body as Asked[], response);
      else if (request.url === '/batch-done') book(request, body as BatchDone, response);
      else response.writeHead(404).end();
    });
  });

  function screen(asked: Asked[], response: ServerResponse): void {
    stats.calls += 1;
    if (stats.calls % refuseEvery === 0) {
      stats.refused += 1;
      const isBusy = (stats.calls / refuseEvery) % 2 === 0;
      response.writeHead(isBusy ? 429 : 503, isBusy ? { 'retry-after': '1' } : {}).end();
      return;
    }
    const answer = (): void => {
      stats.rows += asked.length;
      sendJson(
        response,
        asked.map(({ id, to, amount }) => ({ id, score: scoreOf(to, amount) })),
      );
    };
    setTimeout(() => (held ? held.answers.push(answer) : answer()), latencyMs);
  }

  function scoreOf(to: string, amount: number): number | null {
    if (to.slice(4, 12) === UNKNOWN_BANK && !hasNewAccounts) return null;
    return amount >= SUSPICIOUS_AMOUNT ? 0.9 : Math.round((amount / SUSPICIOUS_AMOUNT) * 60) / 100;
  }

  function book(request: IncomingMessage, message: BatchDone, response: ServerResponse): void {
    const id = String(request.headers['idempotency-key']);
    deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
    if (!booked.has(id)) booked.set(id, message);
    sendJson(response, { booked: true });
  }

  // Longer than any pause between two calls: closing an idle connection would look like a failure.
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    screeningUrl: `${url}/screen`,
    callbackUrl: `${url}/batch-done`,
    booked,
    deliveries,
    stats,
    openAccounts(areOpen) {
      hasNewAccounts = areOpen;
    },
    holdScreening(isHeld) {
      const waiting = held?.answers ?? [];
      held = isHeld ? { answers: waiting } : null;
      if (!isHeld) for (const answer of waiting) answer();
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return JSON.parse(text || 'null') as unknown;
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
