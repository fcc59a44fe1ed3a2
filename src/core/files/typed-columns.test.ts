import { describe, expect, it } from 'vitest';
import { looksLikeType } from './cell-type.ts';
import { ColumnTypeGatherer, typeReader } from './typed-columns.ts';

const columns = [{ key: 'a', header: 'A' }, null, { key: '__proto__', header: 'B' }];

describe('a text looks like', () => {
  it.each([
    ['42', 'number'],
    ['-0.5', 'number'],
    ['1e-7', 'number'],
    ['TRUE', 'boolean'],
    ['2024-01-31', 'date'],
    ['2024-01-31T09:30:00.125', 'moment'],
    ['36:00:00', 'time'],
    ['00123', null],
    ['1e5', null],
    ['+5', null],
    ['1.50', null],
    ['-0', null],
    ['1234567890123456', null],
    ['12345678901234567890', null],
    ['Infinity', null],
    ['true', null],
    ['=1+1', null],
    ['31.01.2024', null],
    ['', null],
  ])('%j: %s', (text, type) => {
    expect(looksLikeType(text)).toBe(type);
  });
});

describe('the types of columns', () => {
  it('follow from their cells, with the text cells that look typed', () => {
    const gatherer = new ColumnTypeGatherer(columns);
    expect(gatherer.found()).toBeUndefined();
    gatherer.add(['42', 'x', 'TRUE'], undefined);
    expect(gatherer.found()).toBeUndefined();
    gatherer.add(['43', 'x', '2024-01-31'], 'n d');
    gatherer.add(['2024-01-31', 'x', '5'], 'd  ');
    const found = gatherer.found()!;
    expect(Object.entries(found)).toEqual([
      ['a', { types: ['date', 'number'], texts: ['42'] }],
      ['__proto__', { types: ['date'] }],
    ]);
    const typeOf = typeReader(found.a!);
    expect(['43', '42', '00123', '2024-02-01', 'TRUE'].map(typeOf)).toEqual([
      'number',
      null,
      null,
      'date',
      null,
    ]);
  });

  it('are dropped for a column with very many text cells that look typed', () => {
    const gatherer = new ColumnTypeGatherer(columns);
    gatherer.add(['1', '', ''], 'n  ');
    for (let i = 0; i < 1000; i += 1) gatherer.add([String(i), '', ''], undefined);
    expect(gatherer.found()).toBeUndefined();
  });
});
