import { describe, expect, it } from 'vitest';
import { checkExportFilter, type ExportFilter, rowFilter, searchHint } from './export-filter.ts';
import type { ExportRow } from './export-row.ts';
import { RowmillError } from '../errors/rowmill-error.ts';

const ROW: ExportRow = {
  seq: 7,
  inputJson: '{"name": "50% off_now \\"today\\"", "n": 1000, "nested": {"list": [1, "Öl"]}}',
  status: 'ERROR',
  attempts: 2,
  errorClass: 'timeout',
  error: 'no answer within 5000 ms',
  resultJson: null,
  phase: 1,
  finishedAtMs: 0,
};

describe('rowFilter', () => {
  it('includes every row without a filter', () => {
    expect(rowFilter({})).toBeNull();
    expect(rowFilter({ search: '' })).toBeNull();
  });

  it.each<[ExportFilter, boolean]>([
    [{ statuses: ['DONE', 'ERROR'] }, true],
    [{ statuses: ['DONE', 'PENDING'] }, false],
    [{ phase: 1 }, true],
    [{ phase: 0 }, false],
    [{ errorGroup: 'timeout: no answer within <n> ms' }, true],
    [{ errorGroup: 'permanent: no answer within <n> ms' }, false],
    [{ statuses: ['ERROR'], phase: 0 }, false],
  ])('%j: %s', (filter, expected) => {
    expect(rowFilter(filter)!(ROW)).toBe(expected);
  });

  it.each<[string, boolean]>([
    ['50% OFF', true],
    ['%', true],
    ['5%', false],
    ['off_now', true],
    ['offxnow', false],
    ['w "today"', true],
    ['\\"', false],
    ['1000', true],
    ['[1,"öl"]', true],
    ['{"list":', true],
    [': ', false],
    ['name', false],
    ['within 5000', true],
    ['today 1000', false],
  ])('searches %j in a row as people see it: %s', (search, expected) => {
    expect(rowFilter({ search })!(ROW)).toBe(expected);
  });
});

describe('searchHint', () => {
  it.each([
    ['desk lamp', ' lamp'],
    ['{"a":1}', null],
    ['LAMP-99', 'lamp-99'],
    ['sku-495007', 'u-495007'],
    ['495007', '495007'],
    ['2024-01-15', '2024-01-15'],
    ['0.0001', '0001'],
    ['1e-7', null],
    ['1.5e-7', null],
    ['-7', null],
    ['a"bc\\d', 'bc'],
    ['12,50', null],
    ['e', null],
    ['kiki', null],
    ['Öl & gas', 'l & gas'],
    ['%_', '%_'],
  ])('of %j is %j', (search, hint) => {
    expect(searchHint(search)).toBe(hint);
  });

  it('excludes every letter that is the lower case of a non-ASCII character', () => {
    const letters = new Set<string>();
    for (let code = 0x80; code <= 0x10ffff; code += 1) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      for (const letter of String.fromCodePoint(code)
        .toLowerCase()
        .match(/[\0-\x7f]/g) ?? [])
        letters.add(letter);
    }
    expect([...letters].sort()).toEqual(['i', 'k']);
    for (const letter of letters) expect(searchHint(letter.repeat(4))).toBeNull();
  });
});

describe('checkExportFilter', () => {
  it.each([
    { statuses: [] },
    { statuses: ['BROKEN'] },
    { statuses: 'DONE' },
    { phase: -1 },
    { phase: 0.5 },
    { errorGroup: 5 },
    { search: 'x'.repeat(1001) },
    { search: 5 },
    { seqs: [[5, 5]] },
    {
      seqs: [
        [3, 5],
        [4, 6],
      ],
    },
    { seqs: [[-1, 5]] },
    { colour: 'red' },
  ])('refuses %#', (filter) => {
    const attempt = (): void => checkExportFilter(filter as unknown as ExportFilter);
    expect(attempt).toThrow(RowmillError);
    expect(attempt).toThrow(/^expected .*, got /);
  });

  it('accepts the documented filters', () => {
    checkExportFilter({
      statuses: ['PENDING', 'DONE'],
      phase: 0,
      errorGroup: 'x: y',
      search: '%',
      seqs: [
        [0, 5],
        [7, 8],
      ],
    });
  });
});
