// Types of a user's project, from the definition to the results. init.test.ts compiles this file against the packed
// package, with nodenext and with bundler. Each `@ts-expect-error` is before the one mistake of its definition.
import { definePipeline, type ItemContext, notFound, openRowmill, type Pipeline } from 'rowmill';
import { runPipeline } from 'rowmill/testing';
import { z } from 'zod';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type ResultOf<Of> = Of extends Pipeline<unknown, unknown, infer Result> ? Result : never;
const is = <Right extends true>(_right?: Right): void => {};

const product = z.object({ sku: z.string(), price: z.coerce.number() });
const describeCall = (context: ItemContext): string => `${context.jobId} ${context.attempt}`;

export const offers = definePipeline({
  name: 'offers',
  input: product,
  params: z.object({ currency: z.enum(['EUR', 'USD']), since: z.date().optional() }),
  strategies: ['exact', 'similar'],
  result: 'merge',
  phases: [
    {
      name: 'match',
      run: async (row, { params, strategy, previous }) => {
        is<Same<typeof row, { sku: string; price: number }>>();
        is<Same<typeof params.currency, 'EUR' | 'USD'>>();
        is<Same<typeof params.since, string | undefined>>();
        is<Same<typeof strategy, 'exact' | 'similar'>>();
        is<Same<typeof previous, undefined>>();
        if (row.sku === '') return notFound();
        return { articleId: 7, at: new Date() };
      },
    },
    {
      name: 'price',
      batch: { maxItems: 10 },
      runMany: (items) => items.map(({ input, previous }) => ({ price: input.price + previous.articleId })),
    },
    {
      name: 'total',
      withOutputs: true,
      run: (_row, context) => {
        const { outputs } = context;
        is<Same<typeof outputs.match, { articleId: number; at: string }>>();
        is<Same<typeof outputs.price, { price: number }>>();
        // @ts-expect-error: there is no such phase
        void outputs.prize;
        return { line: describeCall(context), price: String(outputs.price.price) };
      },
    },
  ],
});
is<Same<ResultOf<typeof offers>, { articleId: number; at: string; price: string; line: string }>>();

export const crawl = definePipeline({
  name: 'crawl',
  input: z.object({ site: z.string() }),
  kinds: { page: z.object({ url: z.string(), depth: z.coerce.number() }) },
  phases: [
    {
      name: 'list',
      run: ({ site }, { emit, outputs }) => {
        is<Same<typeof outputs, undefined>>();
        emit({ kind: 'page', key: site, input: { url: site, depth: '1' } });
        emit(site, { site });
        // @ts-expect-error: there is no such kind
        emit({ kind: 'pages', key: site, input: { url: site, depth: 1 } });
        // @ts-expect-error: a page has a url
        emit({ kind: 'page', key: site, input: { site, depth: 1 } });
        return { listed: true };
      },
    },
    {
      name: 'read',
      kind: 'page',
      run: (row, context) => {
        is<Same<typeof row, { url: string; depth: number }>>();
        is<Same<typeof context.previous, undefined>>();
        return { html: describeCall(context) };
      },
    },
    {
      name: 'index',
      kind: 'page',
      run: ({ depth }, { previous }) => ({ words: previous.html.length + depth }),
    },
  ],
});
is<Same<ResultOf<typeof crawl>, { listed: boolean } | { words: number }>>();

export const ten = definePipeline({
  name: 'ten',
  input: product,
  phases: [
    { name: 'a', run: ({ price }) => ({ a: price }) },
    { name: 'b', run: (_, { previous }) => ({ b: previous.a }) },
    { name: 'c', run: (_, { previous }) => ({ c: previous.b }) },
    { name: 'd', run: (_, { previous }) => ({ d: previous.c }) },
    { name: 'e', run: (_, { previous }) => ({ e: previous.d }) },
    { name: 'f', run: (_, { previous }) => ({ f: previous.e }) },
    { name: 'g', run: (_, { previous }) => ({ g: previous.f }) },
    { name: 'h', run: (_, { previous }) => ({ h: previous.g }) },
    { name: 'i', run: (_, { previous }) => ({ i: previous.h }) },
    {
      name: 'j',
      withOutputs: true,
      run: (_, { outputs }) => ({ j: outputs.a.a + outputs.e.e + outputs.i.i }),
    },
  ],
});
is<Same<ResultOf<typeof ten>, { j: number }>>();

export async function useThem(): Promise<void> {
  const { results } = await runPipeline(offers, [{ sku: 'a', price: '5' }], { params: { currency: 'EUR' } });
  is<Same<NonNullable<(typeof results)[number]['result']>['articleId'], number>>();
  const rowmill = await openRowmill({ databaseUrl: 'postgres://localhost/rows' });
  await rowmill.submit(ten, [{ sku: 'a', price: 5 }]);
  // @ts-expect-error: there is no such currency
  await rowmill.submit(offers, [{ sku: 'a', price: 5 }], { params: { currency: 'EU' } });
}
