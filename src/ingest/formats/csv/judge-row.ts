// The fate of one row of a table: kept, kept with a note on what was done, or rejected with the reason. Cells are never
// moved to other columns.
import { MAX_RAW_LENGTH, type ReadLimits, type ReadRow } from '../../row-reader.ts';
import type { TokenizedRow } from './tokenize.ts';

export type RowJudge = (row: TokenizedRow) => ReadRow;

export function createRowJudge(
  columns: number,
  encoding: string,
  limits: ReadLimits,
  padShortRows: boolean,
): RowJudge {
  const { maxCellBytes } = limits;

  function reject(row: TokenizedRow, reason: string): ReadRow {
    return { kind: 'rejected', line: row.line, reason, raw: row.raw.slice(0, MAX_RAW_LENGTH) };
  }

  return (row) => {
    if (row.rejected !== null) return reject(row, row.rejected);
    let cells = row.cells;
    let repair = row.repair;
    const note = (text: string) => {
      repair = repair === null ? text : `${repair}; ${text}`;
    };
    if (cells.length < columns) {
      if (!padShortRows) return reject(row, `expected ${counted(columns, 'cell')}, got ${cells.length}`);
      note(`${counted(columns - cells.length, 'missing cell')} left empty`);
      cells = [...cells, ...Array<string>(columns - cells.length).fill('')];
    } else if (cells.length > columns) {
      const extra = cells.slice(columns);
      if (extra.some((cell) => cell.trim() !== '')) {
        return reject(row, `expected ${counted(columns, 'cell')}, got ${cells.length}`);
      }
      note(`${counted(extra.length, 'empty cell')} beyond the last column dropped`);
      cells = cells.slice(0, columns);
    }
    // No cell is longer than its row, and no character takes more than three bytes per unit.
    if (row.raw.length * 3 > maxCellBytes) {
      const large = cells.findIndex(
        (cell) => cell.length * 3 > maxCellBytes && Buffer.byteLength(cell) > maxCellBytes,
      );
      if (large !== -1) {
        const bytes = Buffer.byteLength(cells[large]!);
        return reject(
          row,
          `expected cell ${large + 1} to be at most ${maxCellBytes} bytes (ingestMaxCellBytes), got ${bytes}`,
        );
      }
    }
    if (row.damaged) note(`bytes that are not ${encoding} replaced by U+FFFD`);
    return { kind: 'cells', line: row.line, cells, repair };
  };
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
