import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { classifyError } from '../../core/errors/classify-error.ts';
import type { FetchRecord } from '../../core/items/fetch-records.ts';
import type { ItemFetch } from '../../pipeline/item-fetch.ts';
import { createItemFetch } from './create-item-fetch.ts';

let server: Server;
let base: string;
const received: { method: string; headers: IncomingHttpHeaders }[] = [];
const records: FetchRecord[] = [];
let controller: AbortController;
let fetch: ItemFetch;

beforeAll(async () => {
  server = createServer(({ method, url, headers }, answer) => {
    received.push({ method: method!, headers });
    const status = Number(/\d{3}/.exec(url!)?.[0] ?? 200);
    if (url!.startsWith('/silent')) return;
    answer.writeHead(status, status === 429 ? { 'retry-after': '7' } : {});
    answer.end(status === 422 ? `no such article${' '.repeat(5000)}` : '{}');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  base = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  received.length = 0;
  records.length = 0;
  controller = new AbortController();
  fetch = createItemFetch({
    signal: controller.signal,
    startedMs: 0,
    idempotencyKey: 'job:1:1:0',
    keepFetch: (record) => void records.push(record),
  });
});

describe('context.fetch', () => {
  it('sends the idempotency key with methods that change something', async () => {
    await fetch(`http://${base}/a`);
    await fetch(`http://${base}/a`, { method: 'HEAD' });
    await fetch(`http://${base}/a`, { method: 'post', body: '{}' });
    await fetch(new Request(`http://${base}/a`, { method: 'DELETE' }));
    await fetch(`http://${base}/a`, { method: 'PUT', headers: { 'Idempotency-Key': 'own' } });
    await fetch(`http://${base}/a`, { method: 'PUT', idempotencyKey: false });
    await fetch(`http://${base}/a`, { idempotencyKey: true });
    await fetch(`http://${base}/a`, { idempotencyKey: 'part 2' });
    expect(received.map(({ method, headers }) => [method, headers['idempotency-key'] ?? null])).toEqual([
      ['GET', null],
      ['HEAD', null],
      ['POST', 'job:1:1:0'],
      ['DELETE', 'job:1:1:0'],
      ['PUT', 'own'],
      ['PUT', null],
      ['GET', 'job:1:1:0'],
      ['GET', 'part 2'],
    ]);
  });

  it('throws for a status that is not ok, with its class, wait and the start of the body', async () => {
    const throttled: unknown = await fetch(`http://${base}/429`).catch((error: unknown) => error);
    expect(classifyError(throttled, 0)).toMatchObject({ class: 'throttled', retryAfterMs: 7000 });
    await expect(fetch(`http://${base}/422`)).rejects.toMatchObject({
      status: 422,
      message: `${base} answered 422: no such article`,
    });
  });

  it('returns accepted statuses', async () => {
    expect((await fetch(`http://${base}/404`, { accept: [404] })).status).toBe(404);
    await expect(fetch(`http://${base}/410`, { accept: [404] })).rejects.toThrow('answered 410');
  });

  it('records method, host and path, status and duration, without query and password', async () => {
    await fetch(`http://${base}/prices?key=secret#part`);
    await fetch(`http://${base}/503`, { method: 'POST' }).catch(() => {});
    await fetch('http://127.0.0.1:1/none').catch(() => {});
    expect(records).toMatchObject([
      { method: 'GET', url: `${base}/prices`, status: 200 },
      { method: 'POST', url: `${base}/503`, status: 503 },
      { method: 'GET', url: '127.0.0.1:1/none', status: null },
    ]);
    expect(JSON.stringify(records)).not.toContain('secret');
    expect(records.every(({ durationMs }) => durationMs >= 0)).toBe(true);
  });

  it('aborts with its call and with a signal of the handler', async () => {
    const waiting = fetch(`http://${base}/silent`);
    controller.abort(new Error('time is up'));
    await expect(waiting).rejects.toThrow('time is up');
    const own = AbortSignal.abort(new Error('changed its mind'));
    await expect(fetch(`http://${base}/silent`, { signal: own })).rejects.toThrow(
      /time is up|changed its mind/,
    );
    expect(records).toMatchObject([{ status: null }, { status: null }]);
  });
});
