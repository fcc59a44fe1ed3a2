import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { definePipeline, isPipeline } from './define-pipeline.ts';

const run = () => ({});

describe('a definition', () => {
  it('becomes a frozen, marked object', () => {
    const pipeline = definePipeline({ name: 'a.b-c_1', phases: [{ name: 'first', run, concurrency: 3 }] });
    expect(pipeline).toMatchObject({
      name: 'a.b-c_1',
      unstorable: 'fail',
      phases: [{ name: 'first', concurrency: 3 }],
    });
    for (const costUnit of ['EUR', 'tokens', 'API calls'])
      expect(definePipeline({ name: 'p', costUnit, phases: [{ name: 'first', run }] })).toMatchObject({
        costUnit,
      });
    expect(pipeline.costUnit).toBeNull();
    expect(Object.isFrozen(pipeline)).toBe(true);
    expect(isPipeline(pipeline)).toBe(true);
  });

  it.each([null, undefined, 5, {}, { name: 'x', phases: [] }])(
    'is not recognized in other values: %j',
    (value) => {
      expect(isPipeline(value)).toBe(false);
    },
  );
});

describe('an invalid definition', () => {
  const first = { name: 'first', run };
  const row = z.object({});
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
    [
      { name: 'p', costUnit: '€', phases: [first] },
      'expected costUnit of pipeline p to be a currency code, tokens or a word of up to 20 characters, got "€"',
    ],
    [
      { name: 'p', costUnit: 5, phases: [first] },
      'expected costUnit of pipeline p to be a currency code, tokens or a word of up to 20 characters, got 5',
    ],
    [
      { name: 'p', costUnit: 'EUX', phases: [first] },
      'expected costUnit of pipeline p to be an ISO currency code such as EUR, got EUX',
    ],
    [undefined, 'expected a pipeline definition, got undefined'],
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
    [
      { name: 'p', result: 'all', phases: [first] },
      'expected result of pipeline p to be last or merge, got "all"',
    ],
    [
      { name: 'p', kinds: 5, phases: [first] },
      'expected kinds of pipeline p to be schemas by kind, got a number',
    ],
    [
      { name: 'p', kinds: { page: {} }, phases: [first] },
      'expected the schema of kind page of pipeline p to be a Standard Schema such as z.object(…), got an object',
    ],
    [
      { name: 'p', kinds: { page: row }, phases: [first] },
      'expected pipeline p to have a phase of kind page',
    ],
    [
      { name: 'p', kinds: { page: row }, phases: [first, { ...first, name: 'b', kind: 'pag' }] },
      'expected the kind of phase b of pipeline p to be one of its kinds, got pag',
    ],
    [
      { name: 'p', kinds: { page: row }, phases: [{ ...first, kind: 'page' }] },
      'expected the first phase of pipeline p to have no kind, got page',
    ],
    [
      {
        name: 'p',
        kinds: { page: row },
        phases: [first, { ...first, name: 'b', kind: 'page' }, { ...first, name: 'c' }],
      },
      'expected the phases of one kind of pipeline p to be neighbours, got c apart from the others',
    ],
    [
      { name: 'p', phases: [{ ...first, withOutputs: 'all' }] },
      'expected withOutputs of phase first of pipeline p to be true or false, got a string',
    ],
    [{ name: 'p', phases: [first, first] }, 'pipeline p has two phases named first'],
    [
      {
        name: 'p',
        strategies: ['exact', 'similar'],
        phases: [{ ...first, retry: { not_found: { maxAttempts: 1 } } }],
      },
      'expected maxAttempts for not_found in phase first of pipeline p to be at least 2, the number of strategies, got 1',
    ],
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
  ])('is refused with what was expected (%#)', (definition, message) => {
    const define = () => definePipeline(definition as Parameters<typeof definePipeline>[0]);
    expect(define).toThrow(RowmillError);
    expect(define).toThrow(expect.objectContaining({ code: 'PIPELINE_INVALID', message }));
  });

  // A timer of more than 2^31 - 1 ms fires after 1 ms.
  it('is refused if a timeout is longer than a timer can measure', () => {
    expect(() => definePipeline({ name: 'p', phases: [{ ...first, timeoutMs: 2 ** 31 }] })).toThrow(
      RowmillError,
    );
  });

  it.each([null, undefined])('is refused if a phase is %j', (phase) => {
    const define = () => definePipeline({ name: 'p', phases: [phase as unknown as typeof first] });
    expect(define).toThrow(RowmillError);
  });
});

describe('a definition with an unknown key', () => {
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
  ])('or with an unknown name is refused: %s', (_, given, message) => {
    expect(() =>
      definePipeline({ name: 'p', input, phases: [{ name: 'a', run }], ...given } as never),
    ).toThrow(message);
  });

  it('is accepted if its schema keeps fields that it does not name', () => {
    const loose = z.looseObject({ sku: z.string() });
    expect(definePipeline({ name: 'p', input: loose, key: 'ean', phases: [{ name: 'a', run }] }).key).toEqual(
      ['ean'],
    );
  });
});
