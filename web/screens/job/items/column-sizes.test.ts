import { describe, expect, test } from 'vitest';
import type { Item } from '../../../lib/job.ts';
import { columnSizes } from './column-sizes.ts';
import { gridColumns } from './grid-columns.ts';

const columns = gridColumns({
  format: null,
  columns: [
    { key: 'sku', header: 'SKU' },
    { key: 'zip', header: 'ZIP' },
    { key: 'text', header: 'text' },
  ],
  resultColumns: ['price'],
});
const rows = Array.from({ length: 30 }, (_, at) => ({
  input: { sku: `A-${at}`, zip: '01067', text: at === 7 ? 'x'.repeat(5000) : 'x'.repeat(20) },
  result: at === 3 ? null : { price: at % 2 === 0 ? 1234.5 : '-7' },
  error: null,
})) as unknown as Item[];
const sizes = columnSizes(columns, rows);

describe('columns sized by content', () => {
  test('are as wide as most of their texts, whatever the longest one is', () => {
    expect(sizes.get('input:text')!.widthPx).toBe(172);
    expect(sizes.get('input:sku')!.widthPx).toBeLessThan(90);
  });

  test('hold numbers only if every text is one, and a postcode is a text', () => {
    expect(sizes.get('result:price')!.isNumeric).toBe(true);
    expect(sizes.get('input:zip')!.isNumeric).toBe(false);
    expect(sizes.get('error')!.isNumeric).toBe(false);
  });

  test('have room for their name without rows', () => {
    const [, key] = gridColumns({
      format: null,
      columns: [{ key: 'a', header: 'A longer header' }],
      resultColumns: [],
    });
    expect(columnSizes([key!], []).get('input:a')!.widthPx).toBe(155);
  });
});
