import { describe, expect, it } from 'vitest';
import {
  type ColumnNames,
  cellReader,
  cellText,
  exportColumns,
  unsuccessfulColumns,
  typedCell,
} from './export-columns.ts';
import type { ExportRow } from './export-row.ts';

function names(input: string[], result: string[], hasMore = false): ColumnNames {
  return { input: input.map((header, index) => ({ key: `k${index}`, header })), result, hasMore };
}

function row(values: Partial<ExportRow>): ExportRow {
  return {
    seq: 0,
    inputJson: '{}',
    status: 'DONE',
    attempts: 1,
    errorClass: null,
    error: null,
    resultJson: null,
    phase: 0,
    finishedAtMs: 0,
    ...values,
  };
}

describe('exportColumns', () => {
  it.each<[string, ColumnNames, string[]]>([
    [
      'input, results, then Rowmill columns',
      names(['b', 'a'], ['price']),
      ['b', 'a', 'price', 'status', 'error', 'attempts'],
    ],
    ['a job without results', names(['a'], []), ['a', 'status', 'error', 'attempts']],
    ['repeated headers are kept', names(['a', 'a', ''], []), ['a', 'a', '', 'status', 'error', 'attempts']],
    [
      'a result named like a header',
      names(['price'], ['price']),
      ['price', 'result_price', 'status', 'error', 'attempts'],
    ],
    [
      'a result whose prefixed name is a header too',
      names(['price', 'result_price'], ['price']),
      ['price', 'result_price', 'result_result_price', 'status', 'error', 'attempts'],
    ],
    [
      'a result that already has the prefixed name keeps it',
      names(['price'], ['price', 'result_price']),
      ['price', 'result_result_price', 'result_price', 'status', 'error', 'attempts'],
    ],
    [
      'headers and results named like Rowmill columns',
      names(['status', 'rowmill_error'], ['error', 'attempts']),
      [
        'status',
        'rowmill_error',
        'error',
        'attempts',
        'rowmill_status',
        'rowmill_rowmill_error',
        'rowmill_attempts',
      ],
    ],
    ['more keys than columns', names(['a'], ['b'], true), ['a', 'b', 'more', 'status', 'error', 'attempts']],
    [
      'the name more is taken',
      names(['more'], ['result_more'], true),
      ['more', 'result_more', 'result_result_more', 'status', 'error', 'attempts'],
    ],
    [
      'names are case-sensitive',
      names(['Price'], ['price']),
      ['Price', 'price', 'status', 'error', 'attempts'],
    ],
  ])('%s', (_, given, headers) => {
    expect(exportColumns(given).map((column) => column.header)).toEqual(headers);
  });

  it('gives unsuccessful rows fixed error columns, and leaves out those of an earlier file', () => {
    const input = names(['a', 'rowmill_status', 'rowmill_attempts'], []).input;
    expect(unsuccessfulColumns(input).map((column) => column.header)).toEqual([
      'a',
      'rowmill_status',
      'rowmill_error',
      'rowmill_error_class',
      'rowmill_attempts',
    ]);
  });
});

describe('cellReader', () => {
  it('reads input by key and results by name, and leaves missing cells empty', () => {
    const read = cellReader(exportColumns(names(['a', 'b'], ['x', 'y'])));
    expect(
      read(row({ inputJson: '{"k0": "1", "k1": {"n": [1]}}', resultJson: '{"y": false}', attempts: 3 })),
    ).toEqual(['1', { n: [1] }, null, false, 'DONE', null, 3]);
    expect(read(row({ status: 'ERROR', error: 'no', errorClass: 'timeout' }))).toEqual([
      ...[null, null, null, null],
      ...['ERROR', 'no', 1],
    ]);
    expect(read(row({ status: 'PENDING', attempts: null }))).toEqual([
      null,
      null,
      null,
      null,
      'PENDING',
      null,
      null,
    ]);
  });

  it.each([
    ['a number', '12', 12],
    ['a text', '"x"', 'x'],
    ['a list', '[1, 2]', [1, 2]],
    ['null', 'null', null],
    ['an object with that key', '{"result": 5}', 5],
  ])('shows a result that is %s in the column result', (_, resultJson, value) => {
    const read = cellReader(exportColumns(names([], ['result', 'other'])));
    expect(read(row({ resultJson })).slice(0, 2)).toEqual([value, null]);
  });

  it('collects keys without a column of their own', () => {
    const read = cellReader(exportColumns(names([], ['a'], true)));
    expect(read(row({ resultJson: '{"a": 1, "b": 2, "__proto__": 3, "": 4}' }))[1]).toEqual(
      JSON.parse('{"b":2,"__proto__":3,"":4}'),
    );
    expect(read(row({ resultJson: '{"a": 1}' }))[1]).toBeNull();
    expect(read(row({ resultJson: '7' }))[1]).toBeNull();
    expect(read(row({}))[1]).toBeNull();
  });

  it.each(['__proto__', 'constructor', 'toString'])('finds %s only if the row has it', (key) => {
    const columns = exportColumns({ input: [{ key, header: key }], result: [key], hasMore: false });
    const read = cellReader(columns);
    expect(read(row({ resultJson: '{}' })).slice(0, 2)).toEqual([null, null]);
    const json = `{${JSON.stringify(key)}: "own"}`;
    expect(read(row({ inputJson: json, resultJson: json })).slice(0, 2)).toEqual(['own', 'own']);
  });
});

describe('cells', () => {
  it.each<[unknown, string, string | number | boolean | null]>([
    ['text', 'text', 'text'],
    ['', '', null],
    ['007', '007', '007'],
    [0, '0', 0],
    [-1.5, '-1.5', -1.5],
    [0.1 + 0.2, '0.30000000000000004', 0.30000000000000004],
    [999_999_999_999_999, '999999999999999', 999_999_999_999_999],
    [1_000_000_000_000_000, '1000000000000000', '1000000000000000'],
    [-9_007_199_254_740_991, '-9007199254740991', '-9007199254740991'],
    [1e21, '1e+21', '1e+21'],
    [true, 'true', true],
    [false, 'false', false],
    [null, '', null],
    [undefined, '', null],
    [{ a: [1, 'x'] }, '{"a":[1,"x"]}', '{"a":[1,"x"]}'],
    [[], '[]', '[]'],
  ])('%j is %j as text and %j with a type', (value, text, typed) => {
    expect(cellText(value)).toBe(text);
    expect(typedCell(value)).toBe(typed);
  });
});
