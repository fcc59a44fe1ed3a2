// Pipelines of the jobs in the screenshots: paid, slow and flaky, but deterministic for each row.
import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { defineCounter, definePipeline, fail, notFound, type Pipeline, resource } from '../../src/index.ts';

/** A number from 0 to 1 that depends only on the arguments. */
function draw(...about: unknown[]): number {
  return createHash('sha256').update(JSON.stringify(about)).digest().readUInt32BE(0) / 2 ** 32;
}

function refused(status: number, message: string): Error {
  return Object.assign(new Error(message), { status });
}

const offers = defineCounter({
  name: 'offers',
  scope: 'seller',
  entity: 'brand',
  measures: ['offers', 'pieces'],
});

const SELLERS = ['Nordlicht', 'Acme, Inc.', 'Müller & Söhne'] as const;

export const priceLookup: Pipeline = definePipeline({
  name: 'price-lookup',
  costUnit: 'EUR',
  version: '2.3.0',
  input: z.object({
    sku: z.string().min(1),
    title: z.string(),
    brand: z.string().optional(),
    quantity: z.coerce.number().int().positive(),
  }),
  params: z.object({
    country: z.enum(['de', 'fr', 'us']).default('de').describe('Where the product is sold'),
    includeTax: z.boolean().default(true).describe('Prices with tax'),
  }),
  summary: ['sku', 'title', 'brand'],
  resources: { 'price-api': { ratePerSecond: 400, concurrency: 32, adaptive: false } },
  counters: [offers],
  outputs: ['csv', 'xlsx'],
  phases: [
    {
      name: 'match',
      concurrency: 32,
      run: ({ sku, title }) => {
        if (title.includes('=')) return fail(`the title of ${sku} looks like a formula`);
        return { articleId: Math.floor(draw('article', sku) * 1e8) };
      },
    },
    {
      name: 'price',
      concurrency: 24,
      cost: 0.002,
      resources: ['price-api'],
      retry: {
        overloaded: { maxAttempts: 4, baseMs: 200, capMs: 1000 },
        not_found: { maxAttempts: 1 },
      },
      run: async ({ sku, brand, quantity }, { attempt, count, signal }) => {
        await wait(5 + draw('time', sku, attempt) * 40, undefined, { signal });
        const fate = draw('fate', sku);
        if (fate < 0.03) return notFound(`no price for ${sku}`);
        if (fate < 0.045) throw refused(503, 'the price service answered 503: maintenance');
        if (fate < 0.055) throw refused(400, `the price service does not sell ${sku} in this country`);
        if (fate < 0.08 && attempt === 1) throw refused(503, 'the price service answered 503: maintenance');
        const price = Math.round(99 + draw('price', sku) * 20_000) / 100;
        const seller = SELLERS[Math.floor(draw('seller', sku) * SELLERS.length)]!;
        count(offers, { scope: seller, entity: brand || 'no brand' }, { offers: 1, pieces: quantity });
        return {
          price,
          currency: 'EUR',
          value: Math.round(price * quantity * 100) / 100,
          seller,
        };
      },
    },
  ],
});

export const describeProducts: Pipeline = definePipeline({
  name: 'describe-products',
  costUnit: 'EUR',
  version: '1.0.4',
  input: z.object({ sku: z.string(), title: z.string() }),
  resources: { 'language-model': { ratePerSecond: 50, concurrency: 8 } },
  phases: [
    {
      name: 'describe',
      concurrency: 8,
      cost: 0.01,
      resources: ['language-model'],
      run: async ({ sku, title }, { cost, signal }) => {
        await wait(5 + draw(sku) * 30, undefined, { signal });
        cost(0.006 + draw('tokens', sku) * 0.008);
        return { description: `${title.trim()}: sturdy, quiet and made to last.`, language: 'en' };
      },
    },
  ],
});

export const nameColours: Pipeline = definePipeline({
  name: 'name-colours',
  version: '1.2.0',
  phases: [
    {
      name: 'look',
      concurrency: 4,
      run: async ({ name }, { signal }) => {
        await wait(10 + draw(name) * 40, undefined, { signal });
        if (draw('blurred', name) < 0.08) return fail('the picture is blurred');
        return { colour: ['teal', 'amber', 'slate', 'coral'][Math.floor(draw('colour', name) * 4)] };
      },
    },
  ],
});

const MOST_PAGES_DEEP = 3;

export const crawlShop: Pipeline = definePipeline({
  name: 'crawl-shop',
  version: '0.9.1',
  input: z.object({ url: z.string(), depth: z.coerce.number().default(0) }),
  summary: ['url'],
  resources: { 'shop-hosts': { concurrency: 8 } },
  phases: [
    {
      name: 'fetch',
      concurrency: 8,
      resources: [resource('shop-hosts', ({ url }: { url: string }) => new URL(url).host)],
      run: async ({ url, depth }, { emit, signal }) => {
        await wait(10 + draw(url) * 30, undefined, { signal });
        if (depth > 0 && draw('gone', url) < 0.08) return notFound(`${url} answered 404`);
        const links = depth >= MOST_PAGES_DEEP ? 0 : 1 + Math.floor(draw('links', url) * 4);
        for (let at = 1; at <= links; at += 1)
          emit(`${url}/${at}`, { url: `${url}/${at}`, depth: depth + 1 });
        return { title: `Page ${new URL(url).pathname}`, links };
      },
    },
  ],
});

/** No worker of the screenshots can run it. */
export const translateTitles: Pipeline = definePipeline({
  name: 'translate-titles',
  costUnit: 'EUR',
  version: '3.0.0',
  input: z.object({ sku: z.string(), title: z.string() }),
  phases: [{ name: 'translate', cost: 0.001, run: ({ title }) => ({ title }) }],
});
