import { describe, expect, test } from 'vitest';
import {
  Contributions,
  type Counter,
  contributionTo,
  defineCounter,
  distinctCounters,
  isCounter,
} from './counter.ts';

const notes = defineCounter({
  name: 'notes',
  scope: 'project',
  entity: 'document',
  measures: ['notes', 'links'],
});
const key = { scope: 'p', entity: 'd' };

describe('the definition of a counter', () => {
  test('is validated and frozen', () => {
    expect(isCounter(notes)).toBe(true);
    expect(isCounter({ ...notes })).toBe(true);
    expect(isCounter({ name: 'notes' })).toBe(false);
    expect(Object.isFrozen(notes.measures)).toBe(true);
  });

  test.each([
    [undefined, /expected defineCounter to be given a definition/],
    [{ ...notes, name: 'a b' }, /expected the counter name/],
    [{ ...notes, scope: '' }, /expected scope of counter notes to be a noun/],
    [{ ...notes, entity: 3 }, /expected entity of counter notes to be a noun/],
    [{ ...notes, measures: [] }, /1 to 16 measures/],
    [{ ...notes, measures: Array.from({ length: 17 }, (_, n) => `m${n}`) }, /1 to 16 measures/],
    [{ ...notes, measures: ['a b'] }, /expected the measures of counter notes to be names/],
    [{ ...notes, measures: ['a', 'a'] }, /different names/],
  ])('is refused with a message: %j', (definition, message) => {
    expect(() => defineCounter(definition as never)).toThrow(message);
  });

  test('may be listed twice if it is the same, with measures in any order', () => {
    const turned = defineCounter({ ...notes, measures: ['links', 'notes'] });
    expect(distinctCounters([notes, turned])).toHaveLength(1);
    expect(() => distinctCounters([notes, defineCounter({ ...notes, entity: 'page' })])).toThrow(
      /expected one definition of counter notes, got .* per project and document and .* per project and page/,
    );
  });
});

describe('the contribution of one item', () => {
  const put = (...given: [measured: object, mode?: string][]): unknown[] => {
    const contributions = new Contributions();
    for (const [measured, mode = 'add'] of given)
      contributions.add(contributionTo(notes as Counter, key, measured, mode));
    return contributions.list().map(({ mode, measured }) => ({ mode, measured }));
  };

  test('is merged in order', () => {
    expect(put([{ notes: 1 }], [{ notes: 2, links: 3 }])).toEqual([
      { mode: 'add', measured: { notes: 3, links: 3 } },
    ]);
    expect(put([{ notes: 1 }], [{ links: 3 }, 'replace'])).toEqual([
      { mode: 'replace', measured: { links: 3 } },
    ]);
    expect(put([{ notes: 1 }, 'replace'], [{ notes: 4 }])).toEqual([
      { mode: 'replace', measured: { notes: 5 } },
    ]);
    expect(put([{ notes: 1 }], [{}, 'replace'])).toEqual([{ mode: 'replace', measured: {} }]);
  });

  test('does not exceed the largest safe integer', () => {
    expect(() => put([{ notes: Number.MAX_SAFE_INTEGER }], [{ notes: 1 }])).toThrow(
      /to stay below 9007199254740991/,
    );
  });

  test('can only be added or replaced', () => {
    expect(() => put([{ notes: 1 }, 'subtract'])).toThrow(/to be add or replace, got "subtract"/);
  });

  test('is bounded', () => {
    const contributions = new Contributions();
    const add = (n: number) =>
      contributions.add(contributionTo(notes as Counter, { ...key, entity: `d${n}` }, {}, 'add'));
    for (let n = 0; n < 10_000; n += 1) add(n);
    add(0);
    expect(() => add(10_000)).toThrow(/at most 10000 entities/);
  });
});
