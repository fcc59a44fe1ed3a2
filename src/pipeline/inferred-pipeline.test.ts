// Types that the compiler infers for a pipeline, from its definition to its results. `npm run types` checks these.
// Each `@ts-expect-error` is on the line before the one mistake of its definition, and no other line may have an
// error.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { ResultRow } from '../core/files/export-row.ts';
import { notFound, retryLater, skip } from '../core/items/outcome.ts';
import type { DeclaredLimits } from '../core/limits/resource-limits.ts';
import type { Rowmill } from '../open-rowmill.ts';
import { runPipeline } from '../testing/run-pipeline.ts';
import type { runPipelineOnDatabase } from '../testing/run-pipeline-on-database.ts';
import { definePipeline } from './define-pipeline.ts';
import type { ItemContext } from './item-context.ts';
import { resource } from './phase-resources.ts';
import type { Phase, Pipeline } from './pipeline.ts';

const run = () => ({});
const product = z.object({ sku: z.string(), price: z.coerce.number() });

describe('the types of a definition', () => {
  const product = z.object({ sku: z.string(), price: z.coerce.number() });

  it('give a handler the output of the schema, and undefined as previous in the first phase', () => {
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        {
          name: 'first',
          run: (input, context) => {
            expectTypeOf(input).toEqualTypeOf<{ sku: string; price: number }>();
            expectTypeOf(context.previous).toEqualTypeOf<undefined>();
            expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
            return { ok: true };
          },
        },
      ],
    });
  });

  it('hand the output of one phase to the next as previous', () => {
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        { name: 'first', run: (input) => ({ length: input.sku.length }) },
        {
          name: 'second',
          run: (input, context) => {
            expectTypeOf(input).toEqualTypeOf<{ sku: string; price: number }>();
            expectTypeOf(context.previous).toEqualTypeOf<{ length: number }>();
            return { total: input.price * context.previous.length };
          },
        },
      ],
    });
  });

  it('do the same over three phases, with promises', () => {
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        { name: 'first', run: async () => ({ a: 1 }) },
        {
          name: 'second',
          run: async (_, context) => {
            expectTypeOf(context.previous).toEqualTypeOf<{ a: number }>();
            return { b: 'x' };
          },
        },
        {
          name: 'third',
          run: async (_, context) => {
            expectTypeOf(context.previous).toEqualTypeOf<{ b: string }>();
            return null;
          },
        },
      ],
    });
  });

  it('leave verdicts out of previous, because an item with a verdict does not reach the next phase', () => {
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        {
          name: 'first',
          run: async (input) => {
            if (input.price === 0) return skip('free of charge');
            if (input.sku === '') return notFound();
            if (input.price < 0) return retryLater({ afterMs: 5 });
            return { length: input.sku.length };
          },
        },
        {
          name: 'second',
          run: (_, context) => {
            expectTypeOf(context.previous).toEqualTypeOf<{ length: number }>();
            return null;
          },
        },
      ],
    });
  });

  it('give a handler the row as it is stored when there is no schema', () => {
    definePipeline({
      name: 'typed',
      phases: [
        {
          name: 'first',
          run: (input) => {
            expectTypeOf(input).toEqualTypeOf<Record<string, unknown>>();
            return 1;
          },
        },
      ],
    });
  });

  it('give runMany the items with their inputs, and the next phase one output', () => {
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        {
          name: 'first',
          batch: { maxItems: 50, maxWaitMs: 20 },
          runMany: async (items, context) => {
            expectTypeOf(items[0]!.input).toEqualTypeOf<{ sku: string; price: number }>();
            expectTypeOf(items[0]!.previous).toEqualTypeOf<undefined>();
            expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
            return items.map(({ input }) => (input.price === 0 ? notFound() : { length: input.sku.length }));
          },
        },
        {
          name: 'second',
          run: (_, context) => {
            expectTypeOf(context.previous).toEqualTypeOf<{ length: number }>();
            return null;
          },
        },
      ],
    });
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        {
          name: 'first',
          batch: { maxItems: 50 },
          runMany: (items) =>
            items.map(async ({ input }) => (input.price === 0 ? notFound() : { length: input.sku.length })),
        },
        {
          name: 'second',
          run: (_, context) => {
            expectTypeOf(context.previous).toEqualTypeOf<{ length: number }>();
            return null;
          },
        },
      ],
    });
    const both = { name: 'first', run, runMany: () => [], batch: { maxItems: 5 } };
    // @ts-expect-error: one of the two
    expect(() => definePipeline({ name: 'typed', phases: [both] })).toThrow(RowmillError);
  });

  it('pass on the value after a JSON round trip: a Date is text, undefined is null, functions are gone', () => {
    definePipeline({
      name: 'typed',
      phases: [
        {
          name: 'first',
          run: ():
            | { at: Date; left?: { on: Date }; tags: Set<string>; read(): void; list: [Date, 1] }
            | undefined => undefined,
        },
        {
          name: 'second',
          run: (_, { previous }) => {
            expectTypeOf(previous).toEqualTypeOf<{
              at: string;
              left?: { on: string } | undefined;
              tags: Record<string, never>;
              list: [string, 1];
            } | null>();
            return null;
          },
        },
      ],
    });
  });

  it('give costs and resource keys the row before the schema parses it', () => {
    const coerced = z.object({ url: z.string(), price: z.coerce.number() });
    definePipeline({
      name: 'typed',
      input: coerced,
      resources: { site: { concurrency: 1 } },
      phases: [
        {
          name: 'first',
          resources: [
            'site',
            resource('site', (row) => row.url),
            resource('site', (row: { url: string }) => row.url),
          ],
          cost: (row) => {
            expectTypeOf(row).toEqualTypeOf<{ url: string; price: unknown }>();
            return 1;
          },
          run,
        },
      ],
    });
    definePipeline({
      name: 'typed',
      input: coerced,
      resources: { site: { concurrency: 1 } },
      phases: [
        {
          name: 'first',
          // @ts-expect-error: the rows have no such field
          resources: [resource('site', (row: { host: string }) => row.host)],
          run,
        },
      ],
    });
    definePipeline({
      name: 'typed',
      resources: { site: { concurrency: 1 } },
      phases: [{ name: 'first', resources: [resource('site', (row: { url: string }) => row.url)], run }],
    });
  });
});

describe('phases in a row', () => {
  it('know the return type of the one before, and the last one gives the result: one to ten phases', () => {
    const a = { name: 'a', run: () => ({ a: 1 }) };
    const only = definePipeline({ name: 'typed', phases: [a] });
    expectTypeOf<ResultOf<typeof only>>().toEqualTypeOf<{ a: number }>();
    const ten = definePipeline({
      name: 'typed',
      input: product,
      phases: [
        { name: 'a', run: ({ price }) => ({ a: price }) },
        { name: 'b', run: (_, { previous }) => ({ b: previous.a }) },
        { name: 'c', run: async (_, { previous }) => ({ c: previous.b }) },
        {
          name: 'd',
          batch: { maxItems: 5 },
          runMany: (items) => items.map(({ previous }) => ({ d: previous.c })),
        },
        {
          name: 'e',
          run: (_, { previous }) => (previous.d === 0 ? notFound() : { e: new Date(previous.d) }),
        },
        { name: 'f', run: (_, { previous }) => ({ f: previous.e.length }) },
        { name: 'g', run: (_, { previous }) => ({ g: previous.f }) },
        { name: 'h', run: (_, { previous }) => ({ h: previous.g }) },
        { name: 'i', run: (_, { previous }) => ({ i: previous.h }) },
        {
          name: 'j',
          run: (_, { previous }) => {
            expectTypeOf(previous).toEqualTypeOf<{ i: number }>();
            // @ts-expect-error: that was two phases ago
            void previous.h;
            return { j: previous.i, at: new Date() };
          },
        },
      ],
    });
    expectTypeOf<ResultOf<typeof ten>>().toEqualTypeOf<{ j: number; at: string }>();
  });

  it('do so up to the twentieth; later ones get unknown', () => {
    const next = { name: 'next', run: (_: unknown, { previous }: { previous: number }) => previous + 1 };
    const phases = [
      { ...next, name: '1', run: () => 1 },
      { ...next, name: '2' },
      { ...next, name: '3' },
      { ...next, name: '4' },
      { ...next, name: '5' },
      { ...next, name: '6' },
      { ...next, name: '7' },
      { ...next, name: '8' },
      { ...next, name: '9' },
      { ...next, name: '10' },
      { ...next, name: '11' },
      { ...next, name: '12' },
      { ...next, name: '13' },
      { ...next, name: '14' },
      { ...next, name: '15' },
      { ...next, name: '16' },
      { ...next, name: '17' },
      { ...next, name: '18' },
      { ...next, name: '19' },
    ] as const;
    const last = { name: '20', run: (_: unknown, { previous }: { previous: number }) => `${previous}` };
    const twenty = definePipeline({ name: 'typed', phases: [...phases, last] });
    expectTypeOf<ResultOf<typeof twenty>>().toEqualTypeOf<string>();
    const untyped = { name: '21', run: (_: unknown, { previous }: { previous: unknown }) => previous };
    const more = definePipeline({ name: 'typed', phases: [...phases, last, untyped] });
    expectTypeOf<ResultOf<typeof more>>().toBeUnknown();
    expect(more.phases).toHaveLength(21);
    // @ts-expect-error: the return type of the twentieth is unknown here
    definePipeline({ name: 'typed', phases: [...phases, last, { ...next, name: '21' }] });
  });

  it('may be a list built at run time, or have their own type annotations', () => {
    const made = definePipeline({ name: 'typed', phases: ['a', 'b'].map((name) => ({ name, run })) });
    expectTypeOf<ResultOf<typeof made>>().toBeUnknown();
    const lookup: Phase<{ sku: string }, undefined, { price: number }> = {
      name: 'lookup',
      run: ({ sku }) => ({ price: sku.length }),
    };
    const own = definePipeline({
      name: 'typed',
      input: product,
      phases: [lookup, { name: 'total', run: (row, { previous }) => row.price * previous.price }],
    });
    expectTypeOf<ResultOf<typeof own>>().toEqualTypeOf<number>();
  });
});

describe('outputs of earlier phases', () => {
  it('have the names of the phases and the types that they return, where a phase asks for them', () => {
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        {
          name: 'match',
          run: (row) => (row.price === 0 ? notFound() : { articleId: row.price, at: new Date() }),
        },
        { name: 'second phase', batch: { maxItems: 5 }, runMany: (items) => items.map(() => 'text') },
        {
          name: 'third',
          withOutputs: true,
          run: async (row, { outputs, previous }) => {
            expectTypeOf(row).toEqualTypeOf<{ sku: string; price: number }>();
            expectTypeOf(previous).toEqualTypeOf<string>();
            expectTypeOf(outputs).toEqualTypeOf<{
              readonly match: { articleId: number; at: string };
              readonly 'second phase': string;
            }>();
            // @ts-expect-error: that phase comes later
            void outputs.fourth;
            return { third: outputs.match.articleId };
          },
        },
        {
          name: 'fourth',
          withOutputs: true,
          batch: { maxItems: 5 },
          runMany: (items) =>
            items.map(({ outputs }) => ({ sum: outputs.third.third + outputs.match.articleId })),
        },
        {
          name: 'fifth',
          run: (_, { outputs, previous }) => {
            expectTypeOf(outputs).toEqualTypeOf<undefined>();
            return previous.sum;
          },
        },
      ],
    });
  });

  it('are merged in the type of the result', () => {
    const merged = definePipeline({
      name: 'typed',
      result: 'merge',
      phases: [
        { name: 'a', run: () => ({ a: 1, both: 'a', at: new Date() }) },
        { name: 'b', run: async () => null },
        { name: 'c', run: (): { both: number; at?: number } => ({ both: 1 }) },
      ],
    });
    expectTypeOf<ResultOf<typeof merged>>().toEqualTypeOf<{ a: number; both: number; at: string | number }>();
    const last = definePipeline({
      name: 'typed',
      result: 'last',
      phases: [
        { name: 'a', run: () => ({ a: 1 }) },
        { name: 'b', run: () => ({ b: 1 }) },
      ],
    });
    expectTypeOf<ResultOf<typeof last>>().toEqualTypeOf<{ b: number }>();
  });
});

describe('kinds of rows', () => {
  const page = z.object({ url: z.string(), depth: z.coerce.number() });

  it('give the phases of a kind its input, and a result to the pipeline', () => {
    const crawl = definePipeline({
      name: 'typed',
      input: product,
      kinds: { page, image: z.object({ src: z.string() }) },
      phases: [
        {
          name: 'list',
          run: (row, { emit }) => {
            emit({ kind: 'page', key: row.sku, input: { url: row.sku, depth: '1' } });
            emit({ kind: 'image', key: row.sku, input: { src: row.sku }, priority: 5 });
            emit(row.sku, { sku: row.sku });
            return { listed: true };
          },
        },
        {
          name: 'fetch',
          kind: 'page',
          cost: (row) => row.url.length,
          run: (row, { previous, emit }) => {
            expectTypeOf(row).toEqualTypeOf<{ url: string; depth: number }>();
            expectTypeOf(previous).toEqualTypeOf<undefined>();
            emit({ kind: 'image', key: row.url, input: { src: row.url } });
            return { html: row.url };
          },
        },
        {
          name: 'index',
          kind: 'page',
          withOutputs: true,
          run: (row, context) => {
            const { previous, outputs } = context;
            const readByHelper = (some: ItemContext) => some.attempt;
            readByHelper(context);
            expectTypeOf(previous).toEqualTypeOf<{ html: string }>();
            expectTypeOf(outputs).toEqualTypeOf<{ readonly fetch: { html: string } }>();
            return { words: row.depth };
          },
        },
        {
          name: 'scale',
          kind: 'image',
          batch: { maxItems: 3 },
          runMany: (items) => items.map(({ input }) => ({ scaled: input.src })),
        },
      ],
    });
    expectTypeOf<ResultOf<typeof crawl>>().toEqualTypeOf<
      { listed: boolean } | { words: number } | { scaled: string }
    >();
  });

  it('are checked: one mistake causes one error, on its line', () => {
    definePipeline({
      name: 'typed',
      kinds: { page },
      phases: [
        {
          name: 'list',
          run: (_, { emit }) => {
            // @ts-expect-error: page
            emit({ kind: 'pge', key: 'a', input: { url: 'a', depth: 1 } });
            // @ts-expect-error: url
            emit({ kind: 'page', key: 'a', input: { ur: 'a', depth: 1 } });
            return null;
          },
        },
        { name: 'fetch', kind: 'page', run: (row) => row.url },
      ],
    });
    expect(() =>
      definePipeline({
        name: 'typed',
        kinds: { page },
        phases: [
          { name: 'list', run },
          {
            name: 'fetch',
            // @ts-expect-error: page
            kind: 'pge',
            run: (row, { previous }) => [row, previous],
          },
        ],
      }),
    ).toThrow(RowmillError);
    definePipeline({
      name: 'typed',
      phases: [
        {
          name: 'list',
          run: (_, { emit }) =>
            // @ts-expect-error: the pipeline has no kinds
            emit({ kind: 'page', key: 'a', input: {} }),
        },
      ],
    });
  });
});

describe('params', () => {
  const params = z.object({ since: z.date(), mode: z.enum(['add', 'replace']).default('add') });

  it('reach handlers and callbacks as parsed by their schema, after a JSON round trip', () => {
    definePipeline({
      name: 'typed',
      params,
      onDone: (_summary, context) => {
        expectTypeOf(context.params).toEqualTypeOf<Read>();
      },
      onItemError: (_items, context) => expectTypeOf(context.params).toEqualTypeOf<Read>(),
      onPhaseDone: (_phase, context) => expectTypeOf(context.params).toEqualTypeOf<Read>(),
      phases: [
        { name: 'one', run: (_, context) => expectTypeOf(context.params).toEqualTypeOf<Read>() && null },
        {
          name: 'many',
          batch: { maxItems: 5 },
          runMany: (items, context) => {
            expectTypeOf(context.params).toEqualTypeOf<Read>();
            return items.map((item) => expectTypeOf(item.params).toEqualTypeOf<Read>() && null);
          },
        },
      ],
    });
    interface Read {
      readonly since: string;
      readonly mode: 'add' | 'replace';
    }
  });

  it('are passed on unchanged when there is no schema', () => {
    const pipeline = definePipeline({
      name: 'typed',
      phases: [
        {
          name: 'one',
          run: (_, context) =>
            expectTypeOf(context.params).toEqualTypeOf<Readonly<Record<string, unknown>>>() && null,
        },
      ],
    });
    expectTypeOf(pipeline).toEqualTypeOf<Pipeline<object, Record<string, unknown>, null>>();
  });
});

describe('input and results', () => {
  const prices = definePipeline({
    name: 'prices',
    input: product.transform(({ sku, price }) => ({ id: sku, cents: price * 100 })),
    params: z.object({ currency: z.string(), digits: z.string().transform(Number).optional() }),
    phases: [
      {
        name: 'lookup',
        run: (row, { params }) => {
          expectTypeOf(row).toEqualTypeOf<{ id: string; cents: number }>();
          expectTypeOf(params.digits).toEqualTypeOf<number | undefined>();
          return { cents: row.cents, at: new Date() };
        },
      },
    ],
  });
  type Prices = Pipeline<
    { sku: string; price: unknown },
    { currency: string; digits?: string | undefined },
    { cents: number; at: string }
  >;
  const rows = [{ sku: 'lamp', price: '3' }];
  const params = { currency: 'EUR', digits: '2' };

  it('are typed by the schemas and by the last phase', () => {
    expectTypeOf(prices).toEqualTypeOf<Prices>();
    expectTypeOf(prices).toExtend<Pipeline>();
  });

  it('have these types in the library', () => {
    const use = async (rowmill: Rowmill) => {
      await rowmill.createJob(prices, { params });
      const jobId = await rowmill.submit(prices, rows, { params });
      await rowmill.submit(prices, new Set(rows));
      // @ts-expect-error: no such field
      await rowmill.submit(prices, [{ sku: 'lamp', prise: 3 }]);
      // @ts-expect-error: a field is missing
      await rowmill.submit(prices, new Set([{ sku: 'lamp' }]));
      // @ts-expect-error: the schema takes a text
      await rowmill.submit(prices, rows, { params: { currency: 'EUR', digits: 2 } });
      // @ts-expect-error: the same for a file
      await rowmill.submitFile(prices, 'prices.csv', { params: { currency: 5 } });
      await rowmill.submit(prices as Pipeline, [{ anything: 'goes' }], { params: { any: 1 } });
      expectTypeOf(rowmill.results(jobId, prices)).toEqualTypeOf<
        AsyncGenerator<ResultRow<{ cents: number; at: string }>>
      >();
      expectTypeOf(rowmill.results(jobId)).toEqualTypeOf<AsyncGenerator<ResultRow>>();
      await rowmill.startWorker([prices, definePipeline({ name: 'other', phases: [{ name: 'a', run }] })]);
    };
    expect(use).toBeTypeOf('function');
  });

  it('do not expose library internals', () => {
    expectTypeOf<keyof Rowmill>().extract<'context' | symbol>().toBeNever();
  });

  it('have these types in the testing kit', async () => {
    const { results } = await runPipeline(prices, rows, { params });
    expect(results[0]!.result?.cents).toBe(300);
    expectTypeOf(results[0]!.result).toEqualTypeOf<{ cents: number; at: string } | null>();
    // @ts-expect-error: no such field
    await runPipeline(prices, [{ skuu: 'lamp' }], { params });
    // @ts-expect-error: no such parameter
    const refused = runPipeline(prices, rows, { params: { curency: 'EUR' } });
    await expect(refused).rejects.toThrow(RowmillError);
    expectTypeOf<
      typeof runPipelineOnDatabase<object, { color: string }, 5>
    >().returns.resolves.toHaveProperty('results');
  });

  it('accept any object when there is no schema', () => {
    interface Own {
      sku: string;
    }
    const use = (rowmill: Rowmill, own: Own[]) =>
      rowmill.submit(definePipeline({ name: 'typed', phases: [{ name: 'a', run }] }), own);
    expect(use).toBeTypeOf('function');
  });
});

describe('names of a definition', () => {
  it('are checked against the fields: key and summary', () => {
    definePipeline({
      name: 'typed',
      input: product,
      key: ['sku'],
      summary: ['price', 'blob'],
      phases: [one],
    });
    definePipeline({ name: 'typed', key: 'anything', summary: ['goes'], phases: [one] });
    definePipeline({ name: 'typed', input: z.looseObject({}), key: 'anything', phases: [one] });
    const either = z.union([z.object({ website: z.url() }), z.object({ question: z.string() })]);
    definePipeline({ name: 'typed', input: either, key: ['website', 'question'], phases: [one] });
    const hidden = z.unknown() as StandardSchemaV1<unknown, { sku: string }>;
    definePipeline({ name: 'typed', input: hidden, key: 'anything', phases: [one] });
    expect(() =>
      definePipeline({
        name: 'typed',
        input: product,
        // @ts-expect-error: no such field
        key: 'skuu',
        phases: [one],
      }),
    ).toThrow('did you mean sku?');
    expect(() =>
      definePipeline({
        name: 'typed',
        input: product,
        // @ts-expect-error: no such field
        summary: ['sku', 'prise'],
        phases: [one],
      }),
    ).toThrow(RowmillError);
  });

  it('are checked against its resources', () => {
    const resources = { shop: { concurrency: 3 }, model: { ratePerSecond: 5 } };
    definePipeline({
      name: 'typed',
      resources,
      phases: [{ ...one, resources: ['shop', resource('model'), resource('shop', (row) => row.host)] }],
    });
    definePipeline({
      name: 'typed',
      resources,
      phases: [{ ...one, resources: [resource<{ host: string }>('shop', (row) => row.host)] }],
    });
    const some: Record<string, DeclaredLimits> = resources;
    definePipeline({ name: 'typed', resources: some, phases: [{ ...one, resources: ['shop'] }] });
    expect(() =>
      definePipeline({
        name: 'typed',
        resources,
        phases: [
          {
            name: 'one',
            // @ts-expect-error: no such resource
            resources: ['shops'],
            run: (row, { previous }) => [row, previous],
          },
          { name: 'two', run: (_, { previous }) => previous },
        ],
      }),
    ).toThrow(RowmillError);
    expect(() =>
      definePipeline({
        name: 'typed',
        resources,
        phases: [
          {
            ...one,
            // @ts-expect-error: no such resource
            resources: [resource('shops', (row) => row.host)],
          },
        ],
      }),
    ).toThrow(RowmillError);
    expect(() =>
      definePipeline({
        name: 'typed',
        phases: [
          {
            ...one,
            // @ts-expect-error: there are none
            resources: ['shop'],
          },
        ],
      }),
    ).toThrow(RowmillError);
  });

  it('are checked against its strategies', () => {
    definePipeline({
      name: 'typed',
      strategies: ['exact', 'similar'],
      phases: [
        {
          name: 'one',
          run: (_, { strategy }) => {
            expectTypeOf(strategy).toEqualTypeOf<'exact' | 'similar'>();
            // @ts-expect-error: no such strategy
            return strategy === 'simular';
          },
        },
      ],
    });
    const strategies = ['exact', 'similar'].map((way) => `${way} match`);
    definePipeline({
      name: 'typed',
      strategies,
      phases: [{ name: 'one', run: (_, c) => expectTypeOf(c.strategy).toEqualTypeOf<string | undefined>() }],
    });
    definePipeline({
      name: 'typed',
      phases: [{ name: 'one', run: (_, c) => expectTypeOf(c.strategy).toEqualTypeOf<undefined>() }],
    });
  });

  const one = { name: 'one', run };
});

describe('one mistake', () => {
  const refused = (define: () => unknown) => expect(define).toThrow(RowmillError);

  it('causes one error, on its line: a property of a phase', () => {
    refused(() =>
      definePipeline({
        name: 'typed',
        input: product,
        phases: [
          { name: 'a', run: (row) => ({ a: row.sku }) },
          {
            name: 'b',
            // @ts-expect-error: timeoutMs
            timeoutMS: 5,
            run: (row, { previous }) => ({ b: row.price, c: previous.a }),
          },
          { name: 'c', run: (_, { previous }) => ({ d: previous.c }) },
        ],
      }),
    );
    refused(() =>
      definePipeline({
        name: 'typed',
        input: product,
        phases: [
          {
            name: 'a',
            // @ts-expect-error: a number
            concurrency: '5',
            run: (row, { signal }) => ({ a: row.sku, signal }),
          },
          {
            name: 'b',
            batch: { maxItems: 3 },
            runMany: (items) => items.map(({ previous }) => previous.a),
          },
        ],
      }),
    );
    refused(() =>
      definePipeline({
        name: 'typed',
        phases: [
          {
            name: 'a',
            run,
            retry: {
              // @ts-expect-error: not an error class
              busy: { maxAttempts: 3 },
            },
          },
        ],
      }),
    );
  });

  it('causes one error, on its line: a property of the pipeline', () => {
    refused(() =>
      definePipeline({
        name: 'typed',
        // @ts-expect-error: outputs
        output: ['csv'],
        phases: [
          { name: 'a', run: (row) => row.sku },
          { name: 'b', run: (_, { previous }) => previous },
        ],
      }),
    );
  });

  it('causes one error, on its line: in a handler', () => {
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        {
          name: 'a',
          run: (row) =>
            // @ts-expect-error: sku
            row.skuu,
        },
        { name: 'b', run: (row, { previous }) => [row.sku, previous] },
      ],
    });
  });
});

type ResultOf<Of> = Of extends Pipeline<unknown, unknown, infer Result> ? Result : never;
