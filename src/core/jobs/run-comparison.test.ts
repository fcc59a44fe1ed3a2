import { expect, test } from 'vitest';
import { cellChanges, sumTotals } from './run-comparison.ts';

test('cells are changed, added and removed, nested values as a whole', () => {
  expect(cellChanges({ a: 1, b: { c: [1] }, d: null, e: 5 }, { a: 1, b: { c: [2] }, d: 0, f: 6 })).toEqual([
    { column: 'b', change: 'changed', before: { c: [1] }, after: { c: [2] } },
    { column: 'd', change: 'changed', before: null, after: 0 },
    { column: 'e', change: 'removed', before: 5, after: null },
    { column: 'f', change: 'added', before: null, after: 6 },
  ]);
  expect(cellChanges({ a: { b: 1 } }, { a: { b: 1 } })).toEqual([]);
});

test('a row without a result has no cells, and other values are one cell', () => {
  expect(cellChanges(null, { a: 1 })).toEqual([{ column: 'a', change: 'added', before: null, after: 1 }]);
  expect(cellChanges({ a: 1 }, null)).toEqual([{ column: 'a', change: 'removed', before: 1, after: null }]);
  expect(cellChanges([1], [2])).toEqual([{ column: '', change: 'changed', before: [1], after: [2] }]);
});

test('a column named like a member of Object is compared as any other', () => {
  const after = JSON.parse('{"__proto__": 1, "constructor": 2}') as object;
  expect(cellChanges({}, after).map(({ column, after: value }) => [column, value])).toEqual([
    ['__proto__', 1],
    ['constructor', 2],
  ]);
});

test('totals add up and average over the rows that were timed', () => {
  const part = { costBefore: 1, costAfter: 2, msBefore: 30, timedBefore: 3, msAfter: 0, timedAfter: 0 };
  expect(
    sumTotals([
      { ...part, change: 'fixed', rows: 3 },
      { ...part, change: 'same', rows: 1, msBefore: 50, timedBefore: 1 },
    ]),
  ).toEqual({
    rows: { fixed: 3, newlyFailed: 0, newlyNotFound: 0, changed: 0, added: 0, same: 1 },
    costBefore: 2,
    costAfter: 4,
    handlerMsBefore: 20,
    handlerMsAfter: null,
  });
});
