// One sheet to rows of texts, as a stream. Knows cells, not headers: what the first row means is decided elsewhere.
import { RowmillError } from '../../../core/rowmill-error.ts';
import type { ReadLimits } from '../../row-reader.ts';
import type { ZipArchive, ZipEntry } from '../zip-archive.ts';
import { type DateKind, dateText, numberText } from './cell-text.ts';
import { decodeEscapes } from './shared-strings.ts';
import { attributeOf, readXml, type XmlHandler } from './xml-reader.ts';

export interface SheetRow {
  /** From 1, as the sheet counts. */
  line: number;
  /** Up to the last cell that is not empty. */
  cells: string[];
  /** What had to be done to some cells. */
  notes: string[];
  /** Why the row cannot be taken; its cells are then incomplete. */
  excess: string | null;
}

export interface SheetContext {
  strings: string[];
  styles: (DateKind | null)[];
  date1904: boolean;
  limits: ReadLimits;
}

const MAX_ROWS = 1_048_576;
const MAX_COLUMNS = 16_384;
/** Notes on more cells than this help nobody. */
const MAX_NOTES = 5;

/** Rows that hold something, in the order of the file. */
export async function* readSheetRows(
  archive: ZipArchive,
  entry: ZipEntry,
  context: SheetContext,
): AsyncGenerator<SheetRow[]> {
  let rows: SheetRow[] = [];
  const handler = createSheetHandler(context, (row) => rows.push(row));
  for await (const _ of readXml(archive.inflate(entry), entry.name, handler)) {
    if (rows.length === 0) continue;
    yield rows;
    rows = [];
  }
}

function createSheetHandler(context: SheetContext, give: (row: SheetRow) => void): XmlHandler {
  const { maxCellBytes, maxRowBytes } = context.limits;
  let inData = false;
  let line = 0;
  let row: SheetRow | null = null;
  let rowBytes = 0;
  let column = -1;
  let type = '';
  let style = '';
  let value = '';
  let valueTooLong = false;
  let hasValue = false;
  let hasFormula = false;
  let collecting = false;
  let inline = false;
  let phonetic = false;

  const openRow = (tag: string): void => {
    const given = attributeOf(tag, 'r');
    line = given === undefined ? line + 1 : Number(given);
    if (!Number.isInteger(line) || line < 1 || line > MAX_ROWS) throw outside(`row ${given ?? line}`);
    row = { line, cells: [], notes: [], excess: null };
    rowBytes = 0;
    column = -1;
  };
  const openCell = (tag: string): void => {
    const reference = attributeOf(tag, 'r');
    column = reference === undefined ? column + 1 : columnOf(reference);
    if (column >= MAX_COLUMNS) throw outside(`cell ${reference ?? `in column ${column + 1}`}`);
    type = attributeOf(tag, 't') ?? 'n';
    style = attributeOf(tag, 's') ?? '';
    value = '';
    valueTooLong = false;
    hasValue = false;
    hasFormula = false;
  };
  const closeCell = (): void => {
    if (row === null || (!hasValue && !hasFormula)) return;
    const where = `${columnName(column)}${line}`;
    const note = (text: string): void => {
      if (row!.notes.length < MAX_NOTES) row!.notes.push(`${where}: ${text}`);
    };
    if (row.cells[column]) throw twice(where);
    const text = hasValue ? cellText(type, style, value, context, note) : '';
    if (!hasValue) note('the formula has no stored value; save the file in a spreadsheet program to get one');
    const bytes = text.length * 3 > maxCellBytes ? Buffer.byteLength(text) : text.length;
    rowBytes += bytes;
    if (valueTooLong || bytes > maxCellBytes) {
      row.excess = `cell ${where} has more than ${maxCellBytes} bytes (ingestMaxCellBytes)`;
    } else if (rowBytes > maxRowBytes)
      row.excess = `the row has more than ${maxRowBytes} bytes (ingestMaxRowBytes)`;
    else if (text !== '') {
      while (row.cells.length < column) row.cells.push('');
      row.cells[column] = text;
    }
  };

  return {
    open(name, tag) {
      if (!inData) {
        if (name === 'sheetData') inData = true;
        else if (name === 'dimension') checkDimension(attributeOf(tag, 'ref') ?? '');
        return;
      }
      if (name === 'c') openCell(tag);
      else if (name === 'v') {
        hasValue = true;
        collecting = true;
      } else if (name === 'row') openRow(tag);
      else if (name === 'f') hasFormula = true;
      else if (name === 'is') {
        hasValue = true;
        inline = true;
      } else if (name === 't') collecting = inline && !phonetic;
      else if (name === 'rPh') phonetic = true;
    },
    text(piece) {
      if (!collecting) return;
      if (value.length > maxCellBytes) valueTooLong = true;
      else value += piece;
    },
    close(name) {
      if (!inData) return;
      if (name === 'v' || name === 't') collecting = false;
      else if (name === 'c') closeCell();
      else if (name === 'row') {
        if (row !== null && (row.cells.length > 0 || row.notes.length > 0 || row.excess !== null)) give(row);
        row = null;
      } else if (name === 'is') inline = false;
      else if (name === 'rPh') phonetic = false;
      else if (name === 'sheetData') inData = false;
    },
  };
}

function cellText(
  type: string,
  style: string,
  value: string,
  context: SheetContext,
  note: (text: string) => void,
): string {
  switch (type) {
    case 's': {
      if (value.trim() === '') return '';
      const text = context.strings[Number(value)];
      if (text === undefined) note('the text that the cell refers to is not in the workbook');
      return text ?? '';
    }
    case 'inlineStr':
    case 'str':
      return decodeEscapes(value);
    case 'b':
      return value.trim() === '1' || value.trim() === 'true' ? 'TRUE' : 'FALSE';
    case 'e':
      note(`the cell holds the error ${value}`);
      return value;
    case 'd':
      return value.trim().replace(/(T00:00:00(\.0+)?)?Z?$/, '');
    default: {
      if (value.trim() === '') return '';
      const kind = style === '' ? null : (context.styles[Number(style)] ?? null);
      const number = numberText(value);
      if (number === null) note('the cell should hold a number and does not');
      if (number === null || kind === null) return number ?? value;
      const date = dateText(Number(value), kind, context.date1904);
      if (date === null) note('the number is shown as a date and is none');
      return date ?? number;
    }
  }
}

function columnOf(reference: string): number {
  let column = 0;
  let at = 0;
  for (; at < reference.length; at += 1) {
    const letter = reference.charCodeAt(at) & ~0x20;
    if (letter < 0x41 || letter > 0x5a) break;
    column = column * 26 + (letter - 0x40);
    if (column > MAX_COLUMNS) throw outside(`cell ${reference.slice(0, 20)}`);
  }
  if (at === 0) throw outside(`cell ${reference.slice(0, 20)}`);
  return column - 1;
}

export function columnName(column: number): string {
  let name = '';
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    name = String.fromCharCode(0x41 + ((rest - 1) % 26)) + name;
  }
  return name;
}

function checkDimension(reference: string): void {
  for (const corner of reference.split(':')) {
    const [, letters, digits] = /^\$?([A-Za-z]+)\$?(\d+)$/.exec(corner) ?? [];
    if (letters === undefined) continue;
    columnOf(letters);
    if (Number(digits) > MAX_ROWS) throw outside(`row ${digits}`);
  }
}

function outside(what: string): RowmillError {
  return new RowmillError(
    'FILE_INVALID',
    `expected a sheet of at most ${MAX_ROWS} rows and ${MAX_COLUMNS} columns, got ${what}`,
  );
}

function twice(where: string): RowmillError {
  return new RowmillError('FILE_INVALID', `expected every cell of the sheet once, got ${where} twice`);
}
