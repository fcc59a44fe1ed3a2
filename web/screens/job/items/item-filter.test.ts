import { describe, expect, test } from 'vitest';
import { columnsQuery, exportQuery } from './item-filter.ts';

describe('the URL of an export', () => {
  test('names its columns, also those with commas', () => {
    const query = new URLSearchParams(
      exportQuery({ statuses: 'DONE', phase: 0 }, { format: 'csv' }, columnsQuery(['a', 'b, c'])),
    );
    expect(Object.fromEntries(query)).toEqual({
      format: 'csv',
      statuses: 'DONE',
      phase: '0',
      columns: '["a","b, c"]',
    });
  });

  test('asks for all columns rather than for more names than a server reads', () => {
    const names = Array.from({ length: 300 }, (_, at) => `Größe in Millimetern ${at}`);
    expect(columnsQuery(names)).toEqual({});
    expect(exportQuery({}, { format: 'csv' }, columnsQuery(names))).toBe('format=csv');
  });
});
