// For an exported file of failed rows that is submitted again: removes the apostrophes that the export put before
// formulas. Such a file is recognized by the columns that only Rowmill writes.
import { unguard } from '../../core/files/formula-guard.ts';
import { isReservedColumn } from '../../core/files/map-columns.ts';
import type { ReadRow, RowReader } from '../row-reader.ts';

export function unguardRows(reader: RowReader): RowReader {
  if (!reader.headers?.some(isReservedColumn)) return reader;
  return {
    detected: reader.detected,
    headers: reader.headers.map(unguard),
    async *rows() {
      for await (const rows of reader.rows()) yield rows.map(unguardRow);
    },
  };
}

function unguardRow(row: ReadRow): ReadRow {
  return row.kind === 'cells' ? { ...row, cells: row.cells.map((cell) => unguard(cell as string)) } : row;
}
