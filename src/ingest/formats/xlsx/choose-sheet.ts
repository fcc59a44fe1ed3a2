// Chooses the sheet of a workbook to read: the stated one, or the first visible one with data, unless another one has
// so much more data that the first can only be a cover, a note or a legend.
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import { cellKind } from '../csv/cell-kind.ts';
import type { WorkbookSheet } from './workbook-parts.ts';

/** Statistics of the first rows of a sheet. */
export interface SheetLook {
  /** Rows seen, at most LOOK_ROWS. */
  rows: number;
  /** The last row of the sheet as it declares itself; null if it does not. */
  declaredRows: number | null;
  filledCells: number;
  /** Width of the widest row. */
  columns: number;
  /** Cells of several words. */
  sentences: number;
  isPivot: boolean;
  /** Most rows belong to one table. */
  fits: boolean;
}

/** Rows of each sheet to read for the choice. */
export const LOOK_ROWS = 400;
/** Another sheet must have this many times as much data. */
const MUCH_MORE = 20;
/** A first sheet with at most this many filled cells is a title, and any larger sheet is preferred. */
const TITLE_CELLS = 3;
const MORE_THAN_TITLE = 2;
/** A cover or a legend has fewer rows than this. */
const MAX_NOTE_ROWS = 100;

export async function chooseSheet(
  sheets: WorkbookSheet[],
  wanted: string | undefined,
  look: (sheet: WorkbookSheet) => Promise<SheetLook>,
): Promise<WorkbookSheet> {
  if (wanted !== undefined) return findSheet(sheets, wanted);
  let first: { sheet: WorkbookSheet; weight: number; factor: number } | null = null;
  let best: { sheet: WorkbookSheet; weight: number } | null = null;
  for (const sheet of sheets) {
    if (!sheet.visible) continue;
    const seen = await look(sheet);
    if (seen.rows === 0) continue;
    const found = { sheet, weight: weigh(seen) };
    const factor = seen.filledCells <= TITLE_CELLS ? MORE_THAN_TITLE : MUCH_MORE;
    first ??= { ...found, factor };
    if (best === null || found.weight > best.weight) best = found;
  }
  if (first !== null) return best!.weight >= first.weight * first.factor ? best!.sheet : first.sheet;
  const hidden = sheets.filter((sheet) => !sheet.visible).map((sheet) => JSON.stringify(sheet.name));
  throw new RowmillError(
    'FILE_INVALID',
    hidden.length === 0
      ? 'expected a workbook with rows, got one whose sheets are all empty'
      : `expected rows in a visible sheet, got only the hidden ${hidden.join(', ')}`,
    hidden.length === 0 ? {} : { hint: 'State the sheet to read a hidden one.' },
  );
}

/** Weighs the data of a sheet. Prose, pivot tables and forms count little: they are about the data of other sheets. */
function weigh({ rows, filledCells, columns, sentences, isPivot, fits }: SheetLook): number {
  const isProse = columns <= 2 && rows < MAX_NOTE_ROWS && sentences * 2 >= rows;
  return Math.max(1, filledCells) * (isPivot || isProse || !fits ? 0.1 : 1);
}

export function isSentence(cell: string): boolean {
  return /\S\s+\S+\s+\S+\s+\S/.test(cell.slice(0, 200)) && cellKind(cell) === 'text';
}

function findSheet(sheets: WorkbookSheet[], wanted: string): WorkbookSheet {
  const folded = wanted.trim().toLowerCase();
  const found =
    sheets.find((sheet) => sheet.name === wanted) ??
    sheets.find((sheet) => sheet.name.trim().toLowerCase() === folded) ??
    (/^\d+$/.test(folded) ? sheets[Number(folded) - 1] : undefined);
  if (found !== undefined) return found;
  const names = sheets.map((sheet) => JSON.stringify(sheet.name)).join(', ');
  throw new RowmillError(
    'FILE_OPTION_INVALID',
    `expected sheet to be one of ${names} or a number from 1 to ${sheets.length}, got ${JSON.stringify(wanted)}`,
  );
}

/** Lists the sheets that have data and are not read. */
export async function warnOfOthers(
  sheets: WorkbookSheet[],
  chosen: WorkbookSheet,
  look: (sheet: WorkbookSheet) => Promise<SheetLook>,
): Promise<string[]> {
  const names: string[] = [];
  for (const sheet of sheets) {
    if (sheet === chosen) continue;
    const { rows } = await look(sheet);
    if (rows === 0) continue;
    names.push(`${JSON.stringify(sheet.name)}${sheet.visible ? '' : ' (hidden)'}`);
  }
  if (names.length === 0) return [];
  return [
    `Only the sheet ${JSON.stringify(chosen.name)} is read. Other sheets with data: ${names.join(', ')}. To run one, create another job from this file and choose its sheet (--sheet on the command line).`,
  ];
}
