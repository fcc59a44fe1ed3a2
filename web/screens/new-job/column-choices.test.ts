import { expect, test } from 'vitest';
import {
  chooseColumn,
  columnChoices,
  matchedWords,
  missingRequired,
  NO_COLUMN,
  seenMapping,
  withoutProblemsOf,
} from './column-choices.ts';

const preview = {
  columns: [
    { header: 'SKU', field: 'sku', match: 'given' as const },
    { header: 'Titel', field: 'Titel', match: null },
    { header: 'Produktmarke', field: 'brand', match: 'guess' as const },
  ],
  missing: [{ field: 'title', required: true, suggestions: ['Titel'] }],
};
const fields = [
  { name: 'sku', required: true },
  { name: 'title', required: true },
  { name: 'brand', required: false },
];

test('each field shows its column with a confidence, or suggestions', () => {
  const choices = columnChoices(preview, fields, { sku: 'SKU' });
  expect(choices.map(({ field, column, match, isGiven }) => [field, column, match, isGiven])).toEqual([
    ['sku', 'SKU', 'given', true],
    ['title', null, null, false],
    ['brand', 'Produktmarke', 'guess', false],
  ]);
  expect(choices[1]!.suggestions).toEqual(['Titel']);
  expect(missingRequired(choices)).toEqual(['title']);
  expect(matchedWords(choices)).toBe('2 of 3 fields matched. Without a column: title (required).');
});

test('a column maps to one field', () => {
  expect(chooseColumn({ sku: 'SKU' }, 'title', 'SKU')).toEqual({ title: 'SKU' });
  expect(chooseColumn({ sku: 'SKU' }, 'title', 'Titel')).toEqual({ sku: 'SKU', title: 'Titel' });
});

test('several fields can be left without a column', () => {
  const mapping = chooseColumn({ sku: NO_COLUMN }, 'brand', NO_COLUMN);
  expect(mapping).toEqual({ sku: NO_COLUMN, brand: NO_COLUMN });
});

test('a mapping can be reset', () => {
  expect(chooseColumn({ sku: 'SKU', title: 'Titel' }, 'title', null)).toEqual({ sku: 'SKU' });
});

test('a job gets the guesses that the user saw and kept', () => {
  const choices = columnChoices(preview, fields, { sku: 'SKU' });
  expect(seenMapping(choices, { sku: 'SKU' })).toEqual({ sku: 'SKU', brand: 'Produktmarke' });
});

test('a field without a column is not reported on every row', () => {
  const title = { field: 'title', message: 'expected string', kind: 'expected string' };
  const short = { field: null, message: 'expected 4 cells, got 2', kind: 'cannot be read' };
  const rows = [{ problems: [title, short] }];
  expect(withoutProblemsOf(rows, ['title'])[0]!.problems).toEqual([short]);
  expect(withoutProblemsOf(rows, [])[0]!.problems).toEqual([title, short]);
});
