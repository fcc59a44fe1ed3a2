import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFileNameFilter, matchesPattern } from './file-name-filter.ts';

describe('patterns', () => {
  it('match as the same pattern written as a regular expression does', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.', '\n'), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '?'), maxLength: 8 });
    fc.assert(
      fc.property(letters, pattern, (name, text) => {
        const expression = text.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.');
        expect(matchesPattern(name, text)).toBe(new RegExp(`^${expression}$`, 's').test(name));
      }),
      { numRuns: 2000 },
    );
  });

  it('are matched quickly for names built to be slow', () => {
    // A matcher that tries every way to divide the name among the stars would never finish.
    expect(matchesPattern('a'.repeat(5000), `${'*a'.repeat(50)}*b`)).toBe(false);
  });
});

describe('names', () => {
  it('of unfinished files never pass, with or without patterns', () => {
    for (const filter of [createFileNameFilter(), createFileNameFilter(['*'])]) {
      for (const name of [
        '.x',
        '.rsync.csv.Ab1',
        'a.part',
        'a.csv.tmp',
        'a.crdownload',
        'a.filepart',
        '~$book.xlsx',
      ]) {
        expect([name, filter(name)]).toEqual([name, false]);
      }
      expect(filter('a.csv')).toBe(true);
    }
  });

  it('must match one of the patterns, if there are any', () => {
    const filter = createFileNameFilter(['*.csv', 'orders-????.xlsx']);
    expect(['a.csv', 'a.CSV', 'orders-2026.xlsx', 'orders-26.xlsx', 'a.csv.gz'].filter(filter)).toEqual([
      'a.csv',
      'orders-2026.xlsx',
    ]);
  });
});
