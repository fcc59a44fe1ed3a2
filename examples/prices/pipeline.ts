// Finds the replacement price of things. Rows of an inventory and photos of things get prices of retailers: an offer
// within a tolerance of the price that was paid, or an estimate with its reason. One call asks one retailer with one
// strategy. A thing that is not found is retried with the next strategy, later and without holding a slot. A call that
// fails is retried with the same strategy, and is never taken for "not found".
import { buffer } from 'node:stream/consumers';
import { definePipeline, fail, httpError, notFound, resource } from 'rowmill';
import { z } from 'zod';

export const RETAILERS = ['atlas', 'borealis', 'corner'];

/**
 * Tried in this order: the exact thing at each retailer, something similar at each, and then an estimate from the
 * market.
 */
const STRATEGIES = [
  ...RETAILERS.map((retailer) => `exact at ${retailer}`),
  ...RETAILERS.map((retailer) => `similar at ${retailer}`),
  'estimate at market',
];

export interface Offer {
  brand: string;
  price: number;
  url: string;
}

/** Rows of a table have a title and the price that was paid; rows of a photo set have `file` and `blob`. */
const input = z
  .object({
    title: z.string().default(''),
    brand: z.string().default(''),
    quantity: z.coerce.number().int().min(1).default(1),
    purchase_price: z.coerce.number().positive().optional(),
    blob: z.string().optional(),
  })
  .refine(({ title, purchase_price, blob }) => blob !== undefined || (title !== '' && purchase_price), {
    error: 'expected a title and a purchase price, or a photo',
  });
type Row = z.infer<typeof input>;

export const prices = definePipeline({
  name: 'prices',
  input,
  params: z.object({ tolerance: z.number().min(0).max(1).default(0.1) }),
  strategies: STRATEGIES,
  summary: ['title', 'brand', 'file'],
  outputs: ['xlsx'],
  // Limits shared by all workers. Each retailer has its own.
  resources: { recogniser: { concurrency: 5 }, retailer: { concurrency: 10 } },
  phases: [
    {
      name: 'identify',
      timeoutMs: 20_000,
      resources: [resource('recogniser', ({ blob }: Row) => (blob === undefined ? null : 'photos'))],
      retry: { overloaded: { maxAttempts: 20 } },
      run: async ({ title, brand, purchase_price, blob }, { openFile, signal, idempotencyKey }) => {
        if (blob === undefined) return { title, brand, paid: purchase_price! };
        const body = await buffer(await openFile(blob));
        const headers = { 'content-type': 'application/octet-stream', 'idempotency-key': idempotencyKey };
        const response = await fetch(`${serviceUrl()}/recognise`, { method: 'POST', body, headers, signal });
        // Not notFound: the strategies are for retailers, and recognising the photo again would cost money again.
        if (response.status === 404) return fail('nothing recognised in the photo');
        return (await checked(response).json()) as { title: string; brand: string; paid: number };
      },
    },
    {
      name: 'find',
      concurrency: 20,
      timeoutMs: 20_000,
      resources: [resource('retailer', (_row, { strategy }) => retailerOf(strategy))],
      retry: {
        // One call per strategy, in quick succession, because the next one asks a different retailer.
        not_found: { maxAttempts: STRATEGIES.length, baseMs: 20, factor: 1 },
        overloaded: { maxAttempts: 20 },
      },
      run: async ({ quantity }, { previous: thing, params, strategy, signal, idempotencyKey }) => {
        const way = strategy!.split(' ')[0];
        const query = new URLSearchParams({ title: thing.title });
        if (way === 'exact') query.set('brand', thing.brand);
        const url = `${serviceUrl()}/${retailerOf(strategy)}/search?${query}`;
        const response = await fetch(url, { signal, headers: { 'idempotency-key': idempotencyKey } });
        if (response.status === 404) return notFound(`no offer: ${strategy}`);
        const { offers } = (await checked(response).json()) as { offers: Offer[] };

        const { tolerance } = params;
        const item = `${thing.brand} ${thing.title}`;
        const band = `within ±${Math.round(tolerance * 100)} % of ${thing.paid.toFixed(2)}`;
        if (way === 'estimate') {
          const price = median(offers.map((offer) => offer.price));
          const reason = `no offer ${band} at ${RETAILERS.join(', ')}; median of ${offers.length} others`;
          return { item, found: way, price, value: round(price * quantity), reason };
        }
        const fitting = offers.filter(({ price }) => Math.abs(price - thing.paid) <= thing.paid * tolerance);
        const best = nearest(fitting, thing.paid);
        if (best === undefined) return notFound(`no offer ${band}: ${strategy}`);
        return {
          item,
          found: way,
          price: best.price,
          value: round(best.price * quantity),
          retailer: retailerOf(strategy),
          sold: best.brand,
          url: best.url,
          reason: way === 'exact' ? null : `no ${thing.brand} ${band}`,
        };
      },
    },
  ],
});

function serviceUrl(): string {
  return process.env.RETAILERS_URL ?? 'http://127.0.0.1:8080';
}

function retailerOf(strategy: string | undefined): string {
  return strategy!.split(' at ')[1]!;
}

function nearest(offers: readonly Offer[], paid: number): Offer | undefined {
  return offers.toSorted((a, b) => Math.abs(a.price - paid) - Math.abs(b.price - paid))[0];
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : round((sorted[middle - 1]! + sorted[middle]!) / 2);
}

function round(amount: number): number {
  return Math.round(amount * 100) / 100;
}

/** 429 waits for the time in Retry-After; 5xx is retried later. */
function checked(response: Response): Response {
  if (!response.ok) throw httpError(response);
  return response;
}
