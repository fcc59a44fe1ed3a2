// Makes a table of a sheet: chooses the sheet, finds the header, and gives every row as many cells as there are columns.
import { RowmillError } from '../../../core/rowmill-error.ts';
import { type FormatOptions, MAX_RAW_LENGTH, type ReadLimits, type ReadRow } from '../../row-reader.ts';
import type { ZipArchive } from '../zip-archive.ts';
import { readSharedStrings } from './shared-strings.ts';
import { columnName, readSheetRows, type SheetContext, type SheetRow } from './sheet-rows.ts';
import { readDateStyles, readWorkbookParts, type WorkbookSheet } from './workbook-parts.ts';

export interface SheetTable {
  sheet: string;
  sheets: string[];
  headers: string[];
  preamble: string;
  warnings: string[];
  rows: AsyncGenerator<ReadRow[]>;
}

/** Rows that tell how wide a sheet without a header is. */
const WIDTH_ROWS = 100;

export async function openSheetTable(
  archive: ZipArchive,
  options: FormatOptions,
  limits: ReadLimits,
): Promise<SheetTable> {
  const parts = await readWorkbookParts(archive);
  const context: SheetContext = {
    strings: await readSharedStrings(archive, parts.sharedStrings, limits.xlsxMemoryMb),
    styles: await readDateStyles(archive, parts.styles),
    date1904: parts.date1904,
    limits,
  };
  // Of a sheet that is large and empty one look is enough.
  const seen = new Map<WorkbookSheet, boolean>();
  const holdsData = async (sheet: WorkbookSheet): Promise<boolean> => {
    const known = seen.get(sheet);
    if (known !== undefined) return known;
    let found = false;
    for await (const _ of readSheetRows(archive, sheet.entry, context)) {
      found = true;
      break;
    }
    seen.set(sheet, found);
    return found;
  };
  const sheet = await chooseSheet(parts.sheets, options.sheet, holdsData);
  const batches = readSheetRows(archive, sheet.entry, context);
  const start = await readStart(batches, options);
  const headers = nameHeaders(start, options);
  if (headers.length > limits.maxColumns) {
    throw new RowmillError(
      'FILE_TOO_LARGE',
      `expected at most ${limits.maxColumns} columns (ingestMaxColumns), got ${headers.length}`,
    );
  }
  return {
    sheet: sheet.name,
    sheets: parts.sheets.map((each) => each.name),
    headers,
    preamble: start.preamble,
    warnings: options.sheet === undefined ? await warnOfOthers(parts.sheets, sheet, holdsData) : [],
    rows: toRows(start.rows, batches, headers.length),
  };
}

async function chooseSheet(
  sheets: WorkbookSheet[],
  wanted: string | undefined,
  holdsData: (sheet: WorkbookSheet) => Promise<boolean>,
): Promise<WorkbookSheet> {
  if (wanted !== undefined) {
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
  for (const sheet of sheets) if (sheet.visible && (await holdsData(sheet))) return sheet;
  const hidden = sheets.filter((sheet) => !sheet.visible).map((sheet) => JSON.stringify(sheet.name));
  throw new RowmillError(
    'FILE_INVALID',
    hidden.length === 0
      ? 'expected a workbook with rows, got one whose sheets are all empty'
      : `expected rows in a visible sheet, got only the hidden ${hidden.join(', ')}`,
    hidden.length === 0 ? {} : { hint: 'State the sheet to read a hidden one.' },
  );
}

async function warnOfOthers(
  sheets: WorkbookSheet[],
  chosen: WorkbookSheet,
  holdsData: (sheet: WorkbookSheet) => Promise<boolean>,
): Promise<string[]> {
  const names: string[] = [];
  for (const sheet of sheets) {
    if (sheet === chosen || !(await holdsData(sheet))) continue;
    names.push(`${JSON.stringify(sheet.name)}${sheet.visible ? '' : ' (hidden)'}`);
  }
  if (names.length === 0) return [];
  return [
    `Only the sheet ${JSON.stringify(chosen.name)} is read; these hold data, too: ${names.join(', ')}.`,
  ];
}

interface SheetStart {
  preamble: string;
  header: SheetRow | null;
  /** Rows that were read on the way. */
  rows: SheetRow[];
}

async function readStart(batches: AsyncGenerator<SheetRow[]>, options: FormatOptions): Promise<SheetStart> {
  const { header = true, skipLines = 0 } = options;
  const preamble: string[] = [];
  const rows: SheetRow[] = [];
  for (;;) {
    const { done, value } = await batches.next();
    if (done) break;
    for (const row of value) {
      if (row.line <= skipLines) preamble.push(row.cells.filter((cell) => cell !== '').join('\t'));
      else rows.push(row);
    }
    if (rows.length >= (header ? 1 : WIDTH_ROWS)) break;
  }
  const first = header ? rows.shift() : undefined;
  if (header && first === undefined) {
    throw new RowmillError(
      'FILE_INVALID',
      'expected a row with the names of the columns, got an empty sheet',
    );
  }
  if (first?.excess)
    throw new RowmillError('FILE_TOO_LARGE', `the header, row ${first.line}: ${first.excess}`);
  return { preamble: preamble.join('\n').slice(0, MAX_RAW_LENGTH), header: first ?? null, rows };
}

function nameHeaders({ header, rows }: SheetStart, options: FormatOptions): string[] {
  const width = header?.cells.length ?? rows.reduce((widest, row) => Math.max(widest, row.cells.length), 0);
  const { columns } = options;
  if (columns === undefined) {
    return header === null
      ? Array.from({ length: width }, (_, i) => `column_${i + 1}`)
      : header.cells.map((name) => name.trim());
  }
  // Without a header the last columns may be empty for long.
  if (header === null ? columns.length < width : columns.length !== width) {
    throw new RowmillError(
      'FILE_OPTION_INVALID',
      `expected the option columns to have ${width} names, one per column of the sheet, got ${columns.length}`,
    );
  }
  return columns;
}

async function* toRows(
  start: SheetRow[],
  batches: AsyncGenerator<SheetRow[]>,
  width: number,
): AsyncGenerator<ReadRow[]> {
  if (start.length > 0) yield start.map((row) => toRow(row, width));
  for await (const batch of batches) yield batch.map((row) => toRow(row, width));
}

function toRow({ line, cells, notes, excess }: SheetRow, width: number): ReadRow {
  if (excess !== null || cells.length > width) {
    const reason =
      excess ??
      `expected nothing after the last named column (${columnName(width - 1)}), got a value in ${columnName(cells.length - 1)}${line}`;
    return { kind: 'rejected', line, reason, raw: cells.join('\t').slice(0, MAX_RAW_LENGTH) };
  }
  while (cells.length < width) cells.push('');
  return { kind: 'cells', line, cells, repair: notes.length === 0 ? null : notes.join('; ') };
}
