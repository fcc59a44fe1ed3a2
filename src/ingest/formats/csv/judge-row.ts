// Judges one row of a table: keep it, keep it with a repair note, or reject it with a reason. Cells are never moved to
// other columns, and a row whose cells may be shifted is rejected.
import { type CsvShape, MAX_RAW_LENGTH, type ReadLimits, type ReadRow } from '../../row-reader.ts';
import { findMisfit } from './column-profiles.ts';
import { splitLoosely } from './split-loosely.ts';
import type { TokenizedRow, TokenizerDialect } from './tokenize.ts';

export interface RowJudge {
  judge(row: TokenizedRow): ReadRow;
  /** Number of rows rejected so far because their cells look shifted. */
  shifted(): number;
}

const QUOTE_KEPT = 'a quote that is not closed was kept as text';

export function createRowJudge(
  columns: number,
  shape: CsvShape,
  dialect: TokenizerDialect & { encoding: string },
  limits: ReadLimits,
  padShortRows: boolean,
): RowJudge {
  const { maxCellBytes } = limits;
  const { width, profiles } = shape;
  let shifted = 0;

  function reject(row: TokenizedRow, reason: string): ReadRow {
    return { kind: 'rejected', line: row.line, reason, raw: row.raw.slice(0, MAX_RAW_LENGTH) };
  }

  function rejectShifted(row: TokenizedRow, cells: string[], misfit: number): ReadRow {
    shifted += 1;
    const cell = JSON.stringify(cells[misfit]!.slice(0, 50));
    return reject(
      row,
      `expected ${counted(columns, 'cell')}, got ${cells.length}, and cell ${misfit + 1} (${cell}) does not look like the other values of its column: a value may contain an unquoted delimiter; put it in quotes`,
    );
  }

  /** The cells of a row with unbalanced quotes, if there is one per column and they look right. */
  function readAgain(row: TokenizedRow): string[] | null {
    const cells = splitLoosely(row.raw, dialect, limits.maxColumns);
    if (cells === null || cells.length !== columns) return null;
    const plain = cells.map((cell) => (cell.includes(dialect.quote) ? '' : cell));
    return findMisfit(plain, profiles) === -1 ? cells : null;
  }

  function judge(row: TokenizedRow): ReadRow {
    let { cells, repair } = row;
    const note = (text: string) => {
      repair = repair === null ? text : `${repair}; ${text}`;
    };
    if (row.unclosed || (repair !== null && cells.length !== columns)) {
      const again = readAgain(row);
      if (again !== null) {
        cells = again;
        repair = QUOTE_KEPT;
      } else if (row.rejected !== null) return reject(row, row.rejected);
    } else if (row.rejected !== null) return reject(row, row.rejected);
    if (cells.length < columns) {
      // The header has one more name than most rows have cells; opening the file gave a warning.
      const lacksLast = cells.length === width && columns === width + 1;
      if (!padShortRows && !lacksLast) {
        return reject(row, `expected ${counted(columns, 'cell')}, got ${cells.length}`);
      }
      if (!lacksLast) note(`${counted(columns - cells.length, 'missing cell')} left empty`);
      cells = [...cells, ...Array<string>(columns - cells.length).fill('')];
    } else if (cells.length !== columns || cells.length !== width) {
      const extra = cells.slice(columns);
      if (extra.some((cell) => cell.trim() !== '')) {
        return reject(row, `expected ${counted(columns, 'cell')}, got ${cells.length}`);
      }
      const kept = extra.length === 0 ? cells : cells.slice(0, columns);
      const misfit = cells.length === width ? -1 : findMisfit(kept, profiles);
      if (misfit !== -1) return rejectShifted(row, cells, misfit);
      if (extra.length > 0) note(`${counted(extra.length, 'empty cell')} beyond the last column dropped`);
      cells = kept;
    }
    // A cell is not longer than its row, and a UTF-16 code unit takes at most three bytes.
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
    if (row.damaged) note(`bytes that are not ${dialect.encoding} replaced by U+FFFD`);
    return { kind: 'cells', line: row.line, cells, repair };
  }

  return { judge, shifted: () => shifted };
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
