// A file of failed rows that comes back: the apostrophes that its export put before formulas are taken away again. Such a
// file is known by the columns that only Rowmill writes.
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
