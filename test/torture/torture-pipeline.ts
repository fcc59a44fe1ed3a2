// Two phases against the provider of the torture: calls for many rows under one limit, then a call per row under a
// limit per shop. Temporary failures are retried far longer than the nemesis lasts.
import { definePipeline, httpError, notFound, resource } from 'rowmill';
import { z } from 'zod';
import { CONCURRENCY, childOf } from './expected-rows.ts';

const row = z.object({ n: z.coerce.number(), shop: z.coerce.number() });

const provider = process.env.PROVIDER_URL ?? '';
const patient = { maxAttempts: 1000, baseMs: 50, factor: 1.5, capMs: 2000 };
const retry = { throttled: patient, overloaded: patient, timeout: patient, not_found: { maxAttempts: 1 } };

async function ask(path: string, body: unknown, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(`${provider}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { worker: String(process.pid) },
    signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw httpError(response);
  }
  return response.json();
}

export const torture = definePipeline({
  name: 'torture',
  input: row,
  resources: {
    bulk: { concurrency: CONCURRENCY.bulk, adaptive: false },
    shop: { concurrency: CONCURRENCY.shop, ratePerSecond: 60, adaptive: false },
  },
  phases: [
    {
      name: 'look',
      concurrency: 6,
      timeoutMs: 5000,
      retry,
      resources: ['bulk'],
      batch: { maxItems: 25, maxWaitMs: 20 },
      runMany: async (items, { signal }) => {
        const rows = items.map(({ input }) => input.n);
        const answer = (await ask('/many', rows, signal)) as number[];
        return answer.map((found) => ({ found }));
      },
    },
    {
      name: 'price',
      concurrency: 12,
      timeoutMs: 5000,
      retry,
      resources: [resource('shop', (stored: { shop: unknown }) => String(stored.shop))],
      run: async ({ n, shop }, { signal, idempotencyKey, emit }) => {
        const { price } = (await ask(`/one/${shop}`, { n, idempotencyKey }, signal)) as {
          price: number | null;
        };
        if (price === null) return notFound('the shop does not have it');
        const child = childOf(n);
        if (child !== null) emit(`child-${child}`, { n: child, shop });
        return { price };
      },
    },
  ],
});
