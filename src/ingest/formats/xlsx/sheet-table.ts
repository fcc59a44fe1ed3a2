// Reads a sheet as a table: chooses the sheet, finds the table in it, and gives every row one cell per column.
// Refuses a sheet most of whose rows do not fit the table.
import type { TableLayout } from '../../../core/files/file-format.ts';
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import {
  type FileTop,
  type FormatOptions,
  MAX_RAW_LENGTH,
  type ReadLimits,
  type ReadRow,
  type SheetSize,
} from '../../row-reader.ts';
import { createTrial, TRIAL_ROWS } from '../refuse-misread.ts';
import { topRows } from '../top-rows.ts';
import type { ZipArchive } from '../zip-archive.ts';
import { chooseSheet, isSentence, LOOK_ROWS, type SheetLook, warnOfOthers } from './choose-sheet.ts';
import { createSheetJudge, type SheetJudge } from './judge-sheet-row.ts';
import { readSharedStrings } from './shared-strings.ts';
import { describeLayout, layOut, type SheetLayout } from './sheet-layout.ts';
import { readSheetRows, type SheetContext, type SheetRow } from './sheet-rows.ts';
import { readDateStyles, readWorkbookParts, showsPivot, type WorkbookSheet } from './workbook-parts.ts';

export interface SheetTable {
  sheet: string;
  sheets: string[];
  headers: string[];
  table: TableLayout;
  preamble: string;
  warnings: string[];
  rows: AsyncGenerator<ReadRow[]>;
  top?: FileTop;
}

/** Cells of the sample, including empty ones. */
const SAMPLE_CELLS = 1_000_000;
const SAMPLE_CHARACTERS = 8 * 1024 * 1024;

export async function openSheetTable(
  archive: ZipArchive,
  options: FormatOptions,
  limits: ReadLimits,
  wantsTop = false,
): Promise<SheetTable> {
  const parts = await readWorkbookParts(archive);
  const context: SheetContext = {
    strings: await readSharedStrings(archive, parts.sharedStrings, limits.xlsxMemoryMb),
    styles: await readDateStyles(archive, parts.styles),
    date1904: parts.date1904,
    limits,
    maxColumns: limits.maxColumns,
  };
  // Cached, because reading a large, empty sheet once is enough.
  const seen = new Map<WorkbookSheet, SheetLook>();
  const look = async (sheet: WorkbookSheet): Promise<SheetLook> => {
    const known = seen.get(sheet) ?? (await lookAtSheet(archive, sheet, context));
    seen.set(sheet, known);
    return known;
  };
  const sheet = await chooseSheet(parts.sheets, options.sheet, look);
  const batches = readSheetRows(archive, sheet.entry, context);
  const { sample, rest } = await takeSample(batches, TRIAL_ROWS);
  const layout = layOut(sample, options, limits);
  const { table, names, preamble, warnings, data } = layout;
  const firstColumn = table.firstColumn ?? 0;
  context.maxColumns = firstColumn + names.length;
  // A job from before layouts were stored is resumed as it started.
  const isOld = options.found !== undefined && options.found.table === undefined;
  const judge = createSheetJudge(names.length, firstColumn, isOld ? [] : data);
  const refusal = options.found === undefined ? tryRows(layout, judge, sheet.name) : null;
  // A preview shows a misread sheet, so that a person can choose another sheet or header row.
  if (refusal !== null && !wantsTop) throw refusal;
  return {
    sheet: sheet.name,
    sheets: parts.sheets.map((each) => each.name),
    headers: names,
    table,
    preamble: preamble.slice(0, MAX_RAW_LENGTH),
    warnings: [
      ...warnings,
      ...warnOfFormulas(data),
      ...(options.sheet === undefined ? await warnOfOthers(parts.sheets, sheet, look) : []),
    ],
    rows: toRows([...data, ...rest], batches, judge),
    ...(wantsTop && {
      top: {
        rows: topRows(sample),
        refusal: refusal?.message ?? null,
        sheets: await sizesOf(parts.sheets, look),
      },
    }),
  };
}

async function sizesOf(
  sheets: WorkbookSheet[],
  look: (sheet: WorkbookSheet) => Promise<SheetLook>,
): Promise<SheetSize[]> {
  const sizes: SheetSize[] = [];
  for (const sheet of sheets) {
    const { rows, declaredRows } = await look(sheet);
    const isCounted = rows < LOOK_ROWS;
    sizes.push({
      name: sheet.name,
      rows: isCounted ? rows : Math.max(rows, declaredRows ?? 0),
      isCounted,
      isHidden: !sheet.visible,
    });
  }
  return sizes;
}

async function lookAtSheet(
  archive: ZipArchive,
  sheet: WorkbookSheet,
  context: SheetContext,
): Promise<SheetLook> {
  let declaredRows: number | null = null;
  const onDimension = (last: number): void => {
    declaredRows = last;
  };
  const batches = readSheetRows(archive, sheet.entry, { ...context, onDimension });
  const { sample: rows } = await takeSample(batches, LOOK_ROWS);
  const look: SheetLook = {
    rows: rows.length,
    declaredRows,
    filledCells: 0,
    columns: 0,
    sentences: 0,
    isPivot: rows.length > 0 && (await showsPivot(archive, sheet)),
    fits: rows.length > 0 && wouldFit(rows, context.limits),
  };
  for (const { cells, beyond } of rows) {
    look.columns = Math.max(look.columns, cells.length + beyond.length);
    look.filledCells += beyond.length;
    for (const cell of cells) {
      if (cell === '') continue;
      look.filledCells += 1;
      if (isSentence(cell)) look.sentences += 1;
    }
  }
  return look;
}

function wouldFit(rows: SheetRow[], limits: ReadLimits): boolean {
  try {
    const { table, names, data } = layOut(rows, {}, limits);
    const { misfit } = createSheetJudge(names.length, table.firstColumn ?? 0, []);
    return data.filter((row) => misfit(row) !== null).length * 2 <= data.length;
  } catch (error) {
    if (error instanceof RowmillError) return false;
    throw error;
  }
}

/**
 * Takes the first rows, always the same number regardless of the pieces in which the sheet is read: the same file
 * must be detected in the same way each time. `rest` has the remaining rows of the last piece.
 */
async function takeSample(
  batches: AsyncGenerator<SheetRow[]>,
  maxRows: number,
): Promise<{ sample: SheetRow[]; rest: SheetRow[] }> {
  const sample: SheetRow[] = [];
  let cells = 0;
  let characters = 0;
  for (;;) {
    const { done, value } = await batches.next();
    if (done) return { sample, rest: [] };
    for (const [at, row] of value.entries()) {
      sample.push(row);
      cells += row.cells.length;
      for (const cell of row.cells) characters += cell.length;
      if (sample.length >= maxRows || cells >= SAMPLE_CELLS || characters >= SAMPLE_CHARACTERS)
        return { sample, rest: value.slice(at + 1) };
    }
  }
}

function tryRows(
  { table, names, data }: SheetLayout,
  { misfit }: SheetJudge,
  sheet: string,
): RowmillError | null {
  const trial = createTrial({
    fit: `fit the ${names.length === 1 ? 'one column' : `${names.length} columns`}`,
    how: `the sheet ${JSON.stringify(sheet)} was read with ${describeLayout(table)}`,
    hint: 'State the sheet, the rows to skip, or that there is no header, if they were detected wrongly. See docs/files-other.md.',
    unit: 'row',
  });
  for (const row of data) {
    const reason = misfit(row);
    const { line } = row;
    const tried: ReadRow =
      reason === null
        ? { kind: 'cells', line, cells: [], repair: null }
        : { kind: 'rejected', line, reason, raw: '' };
    if (trial.add(tried, 0)) break;
  }
  return trial.refusal();
}

function warnOfFormulas(data: SheetRow[]): string[] {
  const lacking = data.filter((row) => row.lacksValue);
  if (lacking.length === 0) return [];
  const which =
    lacking.length === 1
      ? `Row ${lacking[0]!.line} has`
      : `${lacking.length} of the first ${data.length} rows have`;
  return [
    `${which} formulas without a stored value, which are read as empty cells. Open the file in a spreadsheet program and save it.`,
  ];
}

async function* toRows(
  start: SheetRow[],
  batches: AsyncGenerator<SheetRow[]>,
  { judge }: SheetJudge,
): AsyncGenerator<ReadRow[]> {
  if (start.length > 0) yield start.map(judge);
  for await (const batch of batches) yield batch.map(judge);
}
