// Judges one row of a sheet: keep it, or reject it with a reason. Rows of a sheet have no fixed number of cells, so
// short rows are fine. Values outside the named columns, notes and totals are not rows of the table.
import type { CellType } from '../../../core/files/cell-type.ts';
import { MAX_RAW_LENGTH, type ReadRow } from '../../row-reader.ts';
import { cellKind } from '../csv/cell-kind.ts';
import { columnName, type SheetRow } from './sheet-rows.ts';

export interface SheetJudge {
  judge(row: SheetRow): ReadRow;
  /** Why the row does not fit the shape of the table; null if it does. */
  misfit(row: SheetRow): string | null;
}

/** A column that this share of the rows fills is expected in every row. */
const USUAL_SHARE = 0.95;
const MIN_SAMPLE = 3;
const MIN_COLUMNS = 3;
const MAX_GAP = 100;
const TOTAL =
  /^(grand |sub-?|overall )?(total(s|e|es|en)?|sums?|summe|gesamt(summe)?|zwischensumme|insgesamt|somme|suma|somma|totaal|totalt|итого|всего|合计|总计|合計)( général| general)?:?$/i;
const CODES: Record<CellType, string> = { number: 'n', boolean: 'b', date: 'd', moment: 'm', time: 't' };

/** `sample`: rows of data; empty to treat notes and totals as ordinary rows. */
export function createSheetJudge(width: number, firstColumn: number, sample: SheetRow[]): SheetJudge {
  const end = firstColumn + width;
  const usual = usualColumns(sample, firstColumn, end);
  let lastLine = Number.POSITIVE_INFINITY;
  let lastWasNote = false;

  function misfit({ line, cells, beyond, excess }: SheetRow): string | null {
    if (excess !== null) return excess;
    const last = beyond.at(-1)?.column ?? cells.length - 1;
    if (last >= end)
      return `expected nothing after the last named column (${columnName(end - 1)}), got a value in ${columnName(last)}${line}`;
    const first = firstColumn === 0 ? -1 : cells.findIndex((cell) => cell !== '');
    if (first !== -1 && first < firstColumn)
      return `expected nothing before the first named column (${columnName(firstColumn)}), got a value in ${columnName(first)}${line}`;
    return null;
  }

  function remark(row: SheetRow): string | null {
    if (usual.length < 2 || width < MIN_COLUMNS) return null;
    const lacking = usual.find((column) => (row.cells[column] ?? '') === '');
    if (lacking === undefined) return null;
    const filled = row.cells.flatMap((cell, column) => (cell === '' ? [] : [column]));
    const text = row.cells[filled[0] ?? 0] ?? '';
    const where = `${columnName(filled[0] ?? 0)}${row.line}`;
    const isApart = lastWasNote || row.line > lastLine + 1;
    if (filled.length === 1 && isApart && /\s|^[*†‡(]/.test(text.trim()) && cellKind(text) === 'text')
      return `the row looks like a note: of ${width} columns, only ${where} has a value`;
    const others = filled.slice(1).map((column) => cellKind(row.cells[column]!));
    if (others.length > 0 && TOTAL.test(text.trim()) && others.every((kind) => kind === 'number'))
      return `the row looks like a total: ${where} is ${JSON.stringify(text.trim())}, and ${columnName(lacking)}${row.line} is empty, unlike in other rows`;
    return null;
  }

  return {
    misfit,
    judge(row) {
      const { line, cells, types, notes } = row;
      const wrong = misfit(row);
      const reason = wrong ?? remark(row);
      lastWasNote = wrong === null && reason !== null;
      lastLine = line;
      if (reason !== null) return { kind: 'rejected', line, reason, raw: rawOf(row) };
      while (cells.length < end) cells.push('');
      const kept = firstColumn === 0 ? cells : cells.slice(firstColumn);
      const repair = notes.length === 0 ? null : notes.join('; ');
      if (types.size === 0) return { kind: 'cells', line, cells: kept, repair };
      return { kind: 'cells', line, cells: kept, repair, types: codesOf(types, firstColumn, end) };
    },
  };
}

/** Columns that nearly all rows with more than one cell fill. */
function usualColumns(sample: SheetRow[], from: number, end: number): number[] {
  const rows = sample.filter(({ cells }) => cells.filter((cell) => cell !== '').length > 1);
  if (rows.length < MIN_SAMPLE) return [];
  const usual: number[] = [];
  for (let column = from; column < end; column += 1) {
    const filled = rows.filter(({ cells }) => (cells[column] ?? '') !== '').length;
    // One total below a short table must not hide the columns that its other rows fill.
    if (filled >= Math.min(rows.length * USUAL_SHARE, rows.length - 1)) usual.push(column);
  }
  return usual;
}

/** Type codes, one character per column. */
function codesOf(types: Map<number, CellType>, from: number, end: number): string {
  let codes = '';
  for (let column = from; column < end; column += 1) {
    const type = types.get(column);
    codes += type === undefined ? ' ' : CODES[type];
  }
  return codes;
}

function rawOf({ cells, beyond }: SheetRow): string {
  let raw = cells.join('\t');
  let column = cells.length - 1;
  for (const far of beyond) {
    raw += '\t'.repeat(Math.min(far.column - column, MAX_GAP)) + far.text;
    column = far.column;
  }
  return raw.slice(0, MAX_RAW_LENGTH);
}
