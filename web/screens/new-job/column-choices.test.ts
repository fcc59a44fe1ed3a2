import { expect, test } from 'vitest';
import { chooseColumn, columnChoices, missingRequired, withoutProblemsOf } from './column-choices.ts';

const preview = {
  columns: [
    { header: 'SKU', field: 'sku' },
    { header: 'Titel', field: 'Titel' },
  ],
  missing: [
    { field: 'title', required: true, suggestions: ['Titel'] },
    { field: 'brand', required: false, suggestions: [] },
  ],
};
const fields = [
  { name: 'sku', required: true },
  { name: 'title', required: true },
  { name: 'brand', required: false },
];

test('each field shows its column, or suggestions', () => {
  const choices = columnChoices(preview, fields, { sku: 'SKU' });
  expect(choices.map(({ field, column, isGiven }) => [field, column, isGiven])).toEqual([
    ['sku', 'SKU', true],
    ['title', null, false],
    ['brand', null, false],
  ]);
  expect(choices[1]!.suggestions).toEqual(['Titel']);
  expect(missingRequired(choices)).toEqual(['title']);
});

test('a column maps to one field', () => {
  expect(chooseColumn({ sku: 'SKU' }, 'title', 'SKU')).toEqual({ title: 'SKU' });
  expect(chooseColumn({ sku: 'SKU' }, 'title', 'Titel')).toEqual({ sku: 'SKU', title: 'Titel' });
});

test('a mapping can be reset', () => {
  expect(chooseColumn({ sku: 'SKU', title: 'Titel' }, 'title', null)).toEqual({ sku: 'SKU' });
});

test('a field without a column is not reported on every row', () => {
  const title = { field: 'title', message: 'expected string' };
  const short = { field: null, message: 'expected 4 cells, got 2' };
  const rows = [{ line: 2, input: {}, problems: [title, short] }];
  expect(withoutProblemsOf({ rows }, ['title']).rows[0]!.problems).toEqual([short]);
  expect(withoutProblemsOf({ rows }, []).rows[0]!.problems).toEqual([title, short]);
});
