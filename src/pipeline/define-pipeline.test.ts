import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { notFound, retryLater, skip } from '../core/items/outcome.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { definePipeline, isPipeline } from './define-pipeline.ts';
import type { Pipeline } from './pipeline.ts';
import { resource } from './phase-resources.ts';

const run = () => ({});

describe('the types of a definition', () => {
  const product = z.object({ sku: z.string(), price: z.coerce.number() });

  it('give a handler the output of the schema, and no previous in the first phase', () => {
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

  it('leave verdicts out of previous: an item with a verdict does not get that far', () => {
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

  it('hand on what JSON gives back: a Date is text, undefined is null, functions are gone', () => {
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

  it('do so over five phases', () => {
    definePipeline({
      name: 'typed',
      input: product,
      phases: [
        { name: 'a', run: ({ price }) => ({ a: price }) },
        { name: 'b', run: (_, { previous }) => ({ b: previous.a }) },
        { name: 'c', run: (_, { previous }) => ({ c: previous.b }) },
        { name: 'd', run: (_, { previous }) => ({ d: previous.c }) },
        {
          name: 'e',
          run: (_, { previous }) => {
            expectTypeOf(previous).toEqualTypeOf<{ d: number }>();
            // @ts-expect-error: that was two phases ago
            return previous.c;
          },
        },
      ],
    });
  });

  it('give costs and keys of resources the row before the schema has changed it', () => {
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
      // @ts-expect-error: the rows have no such field
      phases: [{ name: 'first', resources: [resource('site', (row: { host: string }) => row.host)], run }],
    });
    definePipeline({
      name: 'typed',
      resources: { site: { concurrency: 1 } },
      phases: [{ name: 'first', resources: [resource('site', (row: { url: string }) => row.url)], run }],
    });
  });

  it('refuse options that do not exist', () => {
    const misspelt = () =>
      // @ts-expect-error: a phase has no such option
      definePipeline({ name: 'typed', phases: [{ name: 'first', run, concurency: 5 }] });
    expect(misspelt).toThrow('did you mean concurrency?');
    const busy = { busy: { maxAttempts: 3 } };
    // @ts-expect-error: not an error class
    expect(() => definePipeline({ name: 'typed', phases: [{ name: 'first', run, retry: busy }] })).toThrow();
  });
});

describe('a definition', () => {
  it('is data, frozen and marked', () => {
    const pipeline = definePipeline({ name: 'a.b-c_1', phases: [{ name: 'first', run, concurrency: 3 }] });
    expect(pipeline).toMatchObject({
      name: 'a.b-c_1',
      unstorable: 'fail',
      phases: [{ name: 'first', concurrency: 3 }],
    });
    expect(Object.isFrozen(pipeline)).toBe(true);
    expect(isPipeline(pipeline)).toBe(true);
    expectTypeOf(pipeline).toEqualTypeOf<Pipeline>();
  });

  it.each([null, undefined, 5, {}, { name: 'x', phases: [] }])('is not any other value: %j', (value) => {
    expect(isPipeline(value)).toBe(false);
  });
});

describe('a bad definition', () => {
  const first = { name: 'first', run };
  const many = { name: 'first', runMany: () => [], batch: { maxItems: 5 } };
  const nameRule =
    'expected the pipeline name to be 1 to 100 letters, digits, dots, dashes or underscores, got ';

  it.each<[unknown, string]>([
    [{ phases: [first] }, `${nameRule}undefined`],
    [{ name: '', phases: [first] }, `${nameRule}""`],
    [{ name: 'a b', phases: [first] }, `${nameRule}"a b"`],
    [{ name: 'x'.repeat(101), phases: [first] }, `${nameRule}"${'x'.repeat(101)}"`],
    [
      { name: 'p', input: {}, phases: [first] },
      'expected the input of pipeline p to be a Standard Schema such as z.object(…), got an object',
    ],
    [
      { name: 'p', input: null, phases: [first] },
      'expected the input of pipeline p to be a Standard Schema such as z.object(…), got null',
    ],
    [undefined, 'expected definePipeline to be given a definition, got undefined'],
    [{ name: 'p' }, 'expected pipeline p to have at least one phase, got undefined'],
    [{ name: 'p', phases: [] }, 'expected pipeline p to have at least one phase, got none'],
    [{ name: 'p', phases: {} }, 'expected pipeline p to have at least one phase, got an object'],
    [
      { name: 'p', phases: [{ run }] },
      'expected every phase of pipeline p to have a name, number 1 has none',
    ],
    [
      { name: 'p', phases: [first, { name: '', run }] },
      'expected every phase of pipeline p to have a name, number 2 has none',
    ],
    [
      { name: 'p', phases: [{ ...first, retry: { busy: {} } }] },
      'expected retry of phase first of pipeline p to name error classes, got busy',
    ],
    [
      { name: 'p', phases: [{ ...first, retry: { timeout: { maxAttempts: 0 } } }] },
      'expected maxAttempts for timeout in phase first of pipeline p to be a whole number from 1, got 0',
    ],
    ...[Number.NaN, Number.POSITIVE_INFINITY, -1].map((baseMs): [unknown, string] => [
      { name: 'p', phases: [{ ...first, retry: { timeout: { baseMs } } }] },
      `expected baseMs for timeout in phase first of pipeline p to be a number from 0 to 2147483647, got ${baseMs}`,
    ]),
    [
      { name: 'p', phases: [{ ...first, retry: { timeout: { factor: '2' } } }] },
      'expected factor for timeout in phase first of pipeline p to be a number from 0 to 1000, got a string',
    ],
    [
      { name: 'p', phases: [{ ...first, retry: { timeout: { capMs: null } } }] },
      'expected capMs for timeout in phase first of pipeline p to be a number from 0 to 2147483647, got null',
    ],
    [{ name: 'p', phases: [first, first] }, 'pipeline p has two phases named first'],
    [
      { name: 'p', phases: [{ name: 'first' }] },
      'expected phase first of pipeline p to have a run function, or runMany for several items at once',
    ],
    [
      { name: 'p', phases: [{ ...first, ...many }] },
      'expected phase first of pipeline p to have either run or runMany, got both',
    ],
    [
      { name: 'p', phases: [{ name: 'first', run: 5 }] },
      'expected run of phase first of pipeline p to be a function, got a number',
    ],
    [
      { name: 'p', phases: [{ ...many, runMany: 'x' }] },
      'expected runMany of phase first of pipeline p to be a function, got a string',
    ],
    [
      { name: 'p', phases: [{ ...first, batch: { maxItems: 5 } }] },
      'expected phase first of pipeline p to have runMany, because it has batch',
    ],
    [
      { name: 'p', phases: [{ ...many, batch: undefined }] },
      'expected batch.maxItems of phase first of pipeline p to be a whole number from 1 to 100,000, got undefined',
    ],
    [
      { name: 'p', phases: [{ ...many, batch: { maxItems: 0 } }] },
      'expected batch.maxItems of phase first of pipeline p to be a whole number from 1 to 100,000, got 0',
    ],
    [
      { name: 'p', phases: [{ ...many, batch: { maxItems: 5, maxWaitMs: -1 } }] },
      'expected batch.maxWaitMs of phase first of pipeline p to be a whole number from 0 to 60,000, got -1',
    ],
    [
      { name: 'p', phases: [{ ...many, thread: true }] },
      'expected phase first of pipeline p to have run: a thread takes one item at a time',
    ],
    [
      { name: 'p', phases: [{ ...first, thread: 'yes' }] },
      'expected thread of phase first of pipeline p to be true or { memoryMb: a whole number from 16 }',
    ],
    [
      { name: 'p', phases: [{ ...first, thread: { memoryMb: 1 } }] },
      'expected thread of phase first of pipeline p to be true or { memoryMb: a whole number from 16 }',
    ],
    [
      { name: 'p', phases: [{ ...first, concurrency: 0 }] },
      'expected concurrency of phase first of pipeline p to be a whole number from 1, got 0',
    ],
    [
      { name: 'p', phases: [{ ...first, priority: 0.5 }] },
      'expected priority of phase first of pipeline p to be a whole number from -1000 to 1000, got 0.5',
    ],
    [
      { name: 'p', phases: [{ ...first, concurrency: 1.5 }] },
      'expected concurrency of phase first of pipeline p to be a whole number from 1, got 1.5',
    ],
    [
      { name: 'p', phases: [{ ...first, timeoutMs: -1 }] },
      'expected timeoutMs of phase first of pipeline p to be a whole number from 1, got -1',
    ],
  ])('says what was expected (%#)', (definition, message) => {
    const define = () => definePipeline(definition as Parameters<typeof definePipeline>[0]);
    expect(define).toThrow(RowmillError);
    expect(define).toThrow(expect.objectContaining({ code: 'PIPELINE_INVALID', message }));
  });

  // A timer of more than 2^31 - 1 ms fires after 1 ms.
  it('does not ask for more time than a timer can measure', () => {
    expect(() => definePipeline({ name: 'p', phases: [{ ...first, timeoutMs: 2 ** 31 }] })).toThrow(
      RowmillError,
    );
  });

  it.each([null, undefined])('does not have a phase that is %j', (phase) => {
    const define = () => definePipeline({ name: 'p', phases: [phase as unknown as typeof first] });
    expect(define).toThrow(RowmillError);
  });
});

describe('a definition with a key that nothing reads', () => {
  const run = (row: unknown) => row;
  const input = z.object({ sku: z.string(), title: z.string() });

  it.each([
    [
      'a phase',
      { phases: [{ name: 'a', run, concurency: 3 }] },
      'phase a of pipeline p: concurency, did you mean concurrency?',
    ],
    ['a pipeline', { retires: 3, phases: [{ name: 'a', run }] }, 'pipeline p: retires'],
    [
      'a retry rule',
      { phases: [{ name: 'a', run, retry: { overloaded: { maxAttemps: 3 } } }] },
      'retry.overloaded of phase a of pipeline p: maxAttemps, did you mean maxAttempts?',
    ],
    [
      'a batch',
      { phases: [{ name: 'a', runMany: () => [], batch: { maxItems: 3, waitMs: 5 } }] },
      'batch of phase a of pipeline p: waitMs',
    ],
  ])('is refused: %s', (_, definition, where) => {
    expect(() => definePipeline({ name: 'p', ...definition } as never)).toThrow(`unknown key of ${where}`);
  });

  it.each([
    ['key', { key: 'skuu' }, 'got skuu, did you mean sku?'],
    ['summary', { summary: ['sku', 'tilte'] }, 'got tilte, did you mean title?'],
    ['strategies', { strategies: ['exact', 'exact'] }, 'to differ, got exact, exact'],
    [
      'resources',
      { resources: { prices: {} }, phases: [{ name: 'a', run, resources: ['price'] }] },
      'got price, did you mean prices?',
    ],
    ['resources', { phases: [{ name: 'a', run, resources: ['toString'] }] }, 'got toString'],
    ['resources', { resources: { prices: { rate: 5, ratePerSec: 5 } } }, 'got rate'],
  ])('or with a name that is not known is refused: %s', (_, given, message) => {
    expect(() =>
      definePipeline({ name: 'p', input, phases: [{ name: 'a', run }], ...given } as never),
    ).toThrow(message);
  });

  it('is not one whose schema keeps fields that it does not name', () => {
    const loose = z.looseObject({ sku: z.string() });
    expect(definePipeline({ name: 'p', input: loose, key: 'ean', phases: [{ name: 'a', run }] }).key).toEqual(
      ['ean'],
    );
  });
});
