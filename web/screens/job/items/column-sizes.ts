// Widths of columns by their content, and which of them hold numbers, estimated from the first rows.
import type { Item } from '../../../lib/job.ts';
import type { GridColumn } from './grid-columns.ts';

export interface ColumnSize {
  widthPx: number;
  isNumeric: boolean;
}

export type ColumnSizes = ReadonlyMap<string, ColumnSize>;

export const NO_SIZES: ColumnSizes = new Map();
/** Rows that are enough for an estimate. */
export const SAMPLE_ROWS = 30;

const CHARACTER_PX = 7.4;
const CELL_PX = 24;
/** Padding, options and edge of a header. */
const HEADER_PX = 44;
const MIN_PX = 72;
const MAX_PX = 300;
const MAX_ERROR_PX = 420;
const MAX_HEADER_PX = 220;
/** Numbers as people write them. Leading zeros make it a text, such as a postcode. */
const NUMBER = /^[+-]?(?:0|[1-9][\d,]*)(?:\.\d+)?$/;

export function columnSizes(columns: readonly GridColumn[], rows: readonly Item[]): ColumnSizes {
  const sizes = new Map<string, ColumnSize>();
  for (const column of columns) {
    // Columns of the row itself have a fixed size.
    if (column.group === 'Row') continue;
    const texts = rows.map((row) => column.text(row)).filter((text) => text !== '');
    const isNumeric = texts.length > 0 && texts.every((text) => NUMBER.test(text));
    sizes.set(column.columnId, { widthPx: widthOf(column, texts), isNumeric });
  }
  return sizes;
}

/** One long text must not widen a column: the ninth of ten decides. */
function widthOf({ title, columnId }: GridColumn, texts: readonly string[]): number {
  const lengths = texts.map((text) => text.length).toSorted((a, b) => a - b);
  const long = lengths[Math.floor((lengths.length - 1) * 0.9)] ?? 0;
  const content = Math.min(columnId === 'error' ? MAX_ERROR_PX : MAX_PX, long * CHARACTER_PX + CELL_PX);
  const header = Math.min(MAX_HEADER_PX, title.length * CHARACTER_PX + HEADER_PX);
  return Math.round(Math.max(MIN_PX, content, header));
}
