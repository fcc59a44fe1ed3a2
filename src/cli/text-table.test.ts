import fc from 'fast-check';
import { expect, test } from 'vitest';
import { displayWidth } from './progress-lines.ts';
import { textTable } from './text-table.ts';

const HEADERS = ['Job', 'State', 'Name', 'Rows', 'Created'];
const ROWS = [
  ['018f2f6e', 'RUNNING', 'a rather long name of a file of prices.csv', '1,200', '2026-01-02 03:04'],
  ['c0ffee00', 'DONE', '価格表', '7', '2026-01-02 03:04'],
];
const WHOLE = Number.POSITIVE_INFINITY;

test('without a terminal nothing is cut, and wide characters count twice', () => {
  expect(textTable(HEADERS, ROWS, { width: WHOLE })).toEqual([
    'Job       State    Name                                         Rows  Created',
    '018f2f6e  RUNNING  a rather long name of a file of prices.csv  1,200  2026-01-02 03:04',
    'c0ffee00  DONE     価格表                                          7  2026-01-02 03:04',
  ]);
});

test('a job id of digits only is aligned like any other', () => {
  const rows = [['40482266', 'DONE', 'prices', '7', '2026-01-02 03:04']];
  expect(textTable(['Job id', ...HEADERS.slice(1)], rows, { width: WHOLE })).toEqual([
    'Job id    State  Name    Rows  Created',
    '40482266  DONE   prices     7  2026-01-02 03:04',
  ]);
});

test('on a terminal the widest texts are cut first', () => {
  expect(textTable(HEADERS, ROWS, { width: 60 })).toEqual([
    'Job       State    Name               Rows  Created',
    '018f2f6e  RUNNING  a rather long n…  1,200  2026-01-02 03:04',
    'c0ffee00  DONE     価格表                7  2026-01-02 03:04',
  ]);
});

test('columns are left out in the given order, and the first one stays', () => {
  expect(textTable(HEADERS, ROWS, { width: 34, drop: ['Created', 'State'] })).toEqual([
    'Job       Name                Rows',
    '018f2f6e  a rather long na…  1,200',
    'c0ffee00  価格表                 7',
  ]);
  expect(textTable(HEADERS, ROWS, { width: 9 })).toEqual(['Job', '018f2f6e', 'c0ffee00']);
});

test('no line is wider than the terminal, whatever the texts are', () => {
  const cell = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.nat().map(String));
  fc.assert(
    fc.property(
      fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 5, max: 60 }),
      (rows, width) => {
        for (const line of textTable(['One', 'Two', 'Three'], rows, { width }))
          expect(displayWidth(line)).toBeLessThanOrEqual(width);
      },
    ),
  );
});
