import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { afterEach, describe, expect, it } from 'vitest';
import { generateProductsCsv, productRows } from '../../examples/price-lookup/generate-products.ts';
import {
  answerTo,
  type PriceService,
  type PriceServiceOptions,
  priceOf,
  startPriceService,
} from '../../examples/price-lookup/price-service.ts';

const calm: PriceServiceOptions = { seed: 1, latencyMs: [0, 0], error5xxRate: 0, notFoundRate: 0 };
const skus = Array.from({ length: 200 }, (_, index) => `sku ${index} & more`);

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

describe('the price service', () => {
  it('gives the same answers for a seed, whatever the order of calls', async () => {
    const options = {
      ...calm,
      latencyMs: [0, 5] as const,
      error5xxRate: 0.3,
      notFoundRate: 0.2,
      resetRate: 0.1,
    };
    const attempts = async (service: PriceService, order: readonly string[]) => {
      const seen = new Map<string, unknown[]>();
      await Promise.all(
        order.map(async (sku) => {
          seen.set(sku, [await ask(service, sku), await ask(service, sku), await ask(service, sku)]);
        }),
      );
      return some.map((sku) => seen.get(sku));
    };
    const some = skus.slice(0, 60);
    const forwards = await attempts(await start(options), some);
    const backwards = await attempts(await start(options), some.toReversed());
    const otherSeed = await attempts(await start({ ...options, seed: 2 }), some);
    expect(backwards).toEqual(forwards);
    expect(otherSeed).not.toEqual(forwards);
  });

  it('always or never finds a sku, with one price', async () => {
    const options = { ...calm, notFoundRate: 0.5 };
    const service = await start(options);
    for (const sku of skus.slice(0, 40)) {
      const price = priceOf(options, sku);
      const expected = price === null ? { status: 404 } : { status: 200, price };
      expect(await ask(service, sku)).toEqual(expected);
      expect(await ask(service, sku)).toEqual(expected);
    }
  });

  it('fails about as often as configured', () => {
    const options = { ...calm, error5xxRate: 0.2, notFoundRate: 0.1, hangRate: 0.05, resetRate: 0.05 };
    const answers = Array.from({ length: 20_000 }, (_, index) => answerTo(options, `sku-${index}`, 1));
    const share = (pattern: RegExp) =>
      answers.filter((answer) => pattern.test(answer)).length / answers.length;
    expect(share(/^5/)).toBeCloseTo(0.2, 1);
    expect(share(/hung/)).toBeCloseTo(0.05, 1);
    expect(share(/reset/)).toBeCloseTo(0.05, 1);
    expect(share(/404/)).toBeCloseTo(0.07, 1);
  });

  it('refuses calls over the rate limit with Retry-After', async () => {
    const service = await start({ ...calm, rateLimitPerSecond: 2 });
    // Enough calls that even a slow machine exceeds the limit.
    const replies = await Promise.all(skus.slice(0, 60).map((sku) => request(service, sku)));
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers } of refused) {
      expect(headers.get('retry-after')).toBe('1');
      expect(headers.get('retry-after-ms')).toMatch(/^\d+$/);
      expect(Number(headers.get('retry-after-ms'))).toBeLessThanOrEqual(500);
    }
    await sleep(Number(refused.at(-1)!.headers.get('retry-after-ms')) + 5);
    expect((await request(service, 'later')).status).toBe(200);
  });

  it('does not let a refused call change the answer to the next attempt', async () => {
    const options = { ...calm, rateLimitPerSecond: 1, error5xxRate: 0.5 };
    const service = await start(options);
    const burst = await Promise.all(skus.slice(0, 30).map(() => ask(service, 'A')));
    expect(burst.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(1);
    const { attempts, answers } = service.stats().skus.get('A')!;
    const expected: Record<string, number> = { 429: burst.length - attempts };
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const answer = answerTo(options, 'A', attempt);
      expected[answer] = (expected[answer] ?? 0) + 1;
    }
    expect(answers).toEqual(expected);
  });

  it('refuses calls over the concurrency limit', async () => {
    // No call is answered before all have arrived.
    const service = await start({ ...calm, hangRate: 1, concurrencyLimit: 3 });
    const replies = skus.slice(0, 8).map((sku) => ask(service, sku));
    await expect.poll(() => service.stats().calls).toBe(8);
    expect(service.stats()).toMatchObject({ maxInFlight: 3, answers: { hung: 3, 429: 5 } });
    await service.stop();
    await Promise.all(replies);
  });

  it('never refuses a caller that stays within the concurrency limit', async () => {
    const service = await start({ ...calm, latencyMs: [0, 2], concurrencyLimit: 4 });
    const waiting = [...skus];
    await Promise.all(
      [1, 2, 3, 4].map(async () => {
        for (let sku = waiting.pop(); sku; sku = waiting.pop())
          expect((await ask(service, sku)).status).toBe(200);
      }),
    );
    expect(service.stats().answers).toEqual({ 200: skus.length });
  });

  it('keeps an exact ledger of calls, answers and idempotency keys', async () => {
    const options = { ...calm, error5xxRate: 0.4, notFoundRate: 0.3, resetRate: 0.1 };
    const service = await start(options);
    for (const sku of skus.slice(0, 50)) {
      for (const key of ['first', 'first', '__proto__']) await ask(service, sku, { 'idempotency-key': key });
    }
    const { calls, answers, skus: ledger } = service.stats();
    expect(calls).toBe(150);
    expect(Object.values(answers).reduce((sum, n) => sum + n)).toBe(150);
    expect(ledger.size).toBe(50);
    for (const [sku, entry] of ledger) {
      const expected: Record<string, number> = {};
      for (const attempt of [1, 2, 3]) {
        const answer = answerTo(options, sku, attempt);
        expected[answer] = (expected[answer] ?? 0) + 1;
      }
      expect(entry).toEqual({
        calls: 3,
        attempts: 3,
        answers: expected,
        idempotencyKeys: new Map([
          ['first', 2],
          ['__proto__', 1],
        ]),
      });
    }
  });

  it('counts hung and abandoned calls, and frees their slots', async () => {
    /** Sends a call and aborts it when it has arrived. Resolves with 'left', or with the status if it was answered. */
    const leave = async (service: PriceService): Promise<unknown> => {
      const { calls } = service.stats();
      const gone = new AbortController();
      const call = request(service, 'A', {}, gone.signal).then(
        ({ status }) => status,
        (error: Error) => error.message,
      );
      await expect.poll(() => service.stats().calls).toBe(calls + 1);
      gone.abort(new Error('left'));
      return call;
    };
    const hanging = await start({ ...calm, hangRate: 1, concurrencyLimit: 1 });
    expect(await leave(hanging)).toBe('left');
    const slow = await start({ ...calm, latencyMs: [600_000, 600_000], concurrencyLimit: 1 });
    expect(await leave(slow)).toBe('left');
    await expect.poll(() => slow.stats().answers).toEqual({ abandoned: 1 });
    expect(hanging.stats().answers).toEqual({ hung: 1 });
    // The slot is free once the service has noticed the disconnect.
    await expect.poll(() => leave(hanging)).toBe('left');
    expect(hanging.stats().answers.hung).toBe(2);
  });

  it('stops although calls are still hanging', async () => {
    const service = await start({ ...calm, hangRate: 1 });
    const call = ask(service, 'A');
    await expect.poll(() => service.stats().calls).toBe(1);
    await service.stop();
    expect(await call).toEqual({ status: 'failed' });
    await service.stop();
  });

  it('answers a wrong URL with 400, so that it does not look like an unknown product', async () => {
    const service = await start(calm);
    for (const path of ['/', '//', '/price', '/price?sku=', '/prices?sku=A']) {
      expect((await fetch(`${service.url}${path}`)).status).toBe(400);
    }
    expect((await fetch(`${service.url}/price?sku=A`, { method: 'POST' })).status).toBe(400);
  });

  it('rejects invalid rates', async () => {
    await expect(startPriceService({ ...calm, error5xxRate: 1.5 })).rejects.toThrow(/error5xxRate.*got 1.5/);
    await expect(startPriceService({ ...calm, error5xxRate: 0.8, hangRate: 0.8 })).rejects.toThrow(/add up/);
    await expect(startPriceService({ ...calm, latencyMs: [5, 1] })).rejects.toThrow(/latencyMs/);
  });
});

describe('the product list', () => {
  it('parses back from CSV to the same rows', async () => {
    const path = join(await temporaryFolder(), 'products.csv');
    await generateProductsCsv(path, { rows: 5000, seed: 7 });
    const rows = parse(await readFile(path), { columns: true });
    expect(rows).toEqual([...productRows({ rows: 5000, seed: 7 })]);
  });

  it('is only a header without rows', async () => {
    const path = join(await temporaryFolder(), 'products.csv');
    await generateProductsCsv(path, { rows: 0, seed: 7 });
    expect(await readFile(path, 'utf8')).toBe('sku,title,brand,quantity,purchase_price\n');
  });

  it('is the same for a seed, and a longer list starts with the shorter one', () => {
    const short = [...productRows({ rows: 100, seed: 7 })];
    expect([...productRows({ rows: 1000, seed: 7 })].slice(0, 100)).toEqual(short);
    expect([...productRows({ rows: 100, seed: 8 })]).not.toEqual(short);
  });

  it('has unique skus and every awkward kind of title', () => {
    const rows = [...productRows({ rows: 1000, seed: 7 })];
    expect(new Set(rows.map(({ sku }) => sku)).size).toBe(1000);
    for (const pattern of [/"/, /,/, /[äöüß]/, /🚚/, /\n/, /^=/, /^ .* $/]) {
      expect(rows.filter(({ title }) => pattern.test(title)).length, String(pattern)).toBeGreaterThan(0);
    }
    expect(rows.filter(({ title }) => title.includes('\n')).length).toBeLessThan(50);
  });
});

async function start(options: PriceServiceOptions): Promise<PriceService> {
  const service = await startPriceService(options);
  cleanups.push(() => service.stop());
  return service;
}

function request(
  service: PriceService,
  sku: string,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) {
  return fetch(`${service.url}/price?sku=${encodeURIComponent(sku)}`, { headers, signal: signal ?? null });
}

async function ask(service: PriceService, sku: string, headers: Record<string, string> = {}) {
  try {
    const response = await request(service, sku, headers);
    const { price } = (await response.json()) as { price?: number };
    return { status: response.status, ...(price === undefined ? {} : { price }) };
  } catch {
    return { status: 'failed' };
  }
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-products-'));
  cleanups.push(() => rm(folder, { recursive: true }));
  return folder;
}
