// One sheet to rows of texts, as a stream. Knows cells, not headers: what the first row means is decided elsewhere.
import { type CellType, dateTypeOf } from '../../../core/files/cell-type.ts';
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import type { ReadLimits } from '../../row-reader.ts';
import type { ZipArchive, ZipEntry } from '../zip-archive.ts';
import { type DateKind, dateText, lacksDigits, numberText } from './cell-text.ts';
import { decodeEscapes } from './shared-strings.ts';
import { readXml, type XmlHandler, type XmlTag } from './xml-reader.ts';

export interface SheetRow {
  /** From 1, as the sheet counts. */
  line: number;
  /** Up to the last cell that is not empty, of the first `maxColumns`. */
  cells: string[];
  /** Cells past those, which are not padded up to. */
  beyond: FarCell[];
  /** Cells that are not text, by column. */
  types: Map<number, CellType>;
  /** A formula of the row has no stored value. */
  lacksValue: boolean;
  /** What had to be done to some cells. */
  notes: string[];
  /** Why the row cannot be taken; its cells are then incomplete. */
  excess: string | null;
}

export interface FarCell {
  column: number;
  text: string;
}

export interface SheetContext {
  strings: string[];
  styles: (DateKind | null)[];
  date1904: boolean;
  limits: ReadLimits;
  /** Cells from this column on are kept apart: a value in the last column of a sheet must not cost 16,384 cells. */
  maxColumns: number;
}

const MAX_ROWS = 1_048_576;
const MAX_COLUMNS = 16_384;
/** Notes on more cells than this help nobody. */
const MAX_NOTES = 5;
const MAX_FAR_CELLS = 20;

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
  /** Texts of <v> and of <is>: a cell has one of them, but files exist that have both. */
  let value = '';
  let inlineText = '';
  let valueTooLong = false;
  let hasValue = false;
  let hasInline = false;
  let hasFormula = false;
  let isRepeated = false;
  let collecting: 'value' | 'inline' | null = null;
  let inline = false;
  let phonetic = false;

  const openRow = ({ attributes }: XmlTag): void => {
    const given = attributes.r;
    line = given === undefined ? line + 1 : Number(given);
    if (!Number.isInteger(line) || line < 1 || line > MAX_ROWS) throw outside(`row ${given ?? line}`);
    row = { line, cells: [], beyond: [], types: new Map(), lacksValue: false, notes: [], excess: null };
    rowBytes = 0;
    column = -1;
  };
  const openCell = ({ attributes }: XmlTag): void => {
    const reference = attributes.r;
    column = reference === undefined ? column + 1 : columnOf(reference);
    if (column >= MAX_COLUMNS) throw outside(`cell ${reference ?? `in column ${column + 1}`}`);
    type = attributes.t ?? 'n';
    style = attributes.s ?? '';
    value = '';
    inlineText = '';
    valueTooLong = false;
    hasValue = false;
    hasInline = false;
    hasFormula = false;
    isRepeated = false;
  };
  const closeCell = (): void => {
    if (row === null || (!hasValue && !hasInline && !hasFormula)) return;
    const where = `${columnName(column)}${line}`;
    const note = (text: string): void => {
      if (row!.notes.length < MAX_NOTES) row!.notes.push(`${where}: ${text}`);
    };
    if (row.cells[column]) throw twice(where);
    const isInline = hasInline && (type === 'inlineStr' || !hasValue);
    if (isRepeated) note('the cell has more than one value; the first is read');
    if (hasInline && hasValue && value !== '' && inlineText !== '')
      note(`the cell has a text of its own and a value; the ${isInline ? 'text' : 'value'} is read`);
    const lacksValue = hasFormula && !isInline && type !== 'str' && value.trim() === '';
    if (lacksValue) {
      row.lacksValue = true;
      note('the formula has no stored value; save the file in a spreadsheet program to get one');
    }
    const { text, cellType } = lacksValue
      ? { text: '', cellType: null }
      : readCell(isInline ? 'inlineStr' : type, style, isInline ? inlineText : value, context, note);
    const bytes = text.length * 3 > maxCellBytes ? Buffer.byteLength(text) : text.length;
    rowBytes += bytes;
    if (valueTooLong || bytes > maxCellBytes) {
      row.excess = `cell ${where} has more than ${maxCellBytes} bytes (ingestMaxCellBytes)`;
    } else if (rowBytes > maxRowBytes)
      row.excess = `the row has more than ${maxRowBytes} bytes (ingestMaxRowBytes)`;
    else if (text === '') return;
    else if (column >= context.maxColumns) {
      if (row.beyond.length < MAX_FAR_CELLS) row.beyond.push({ column, text });
    } else {
      while (row.cells.length < column) row.cells.push('');
      row.cells[column] = text;
      if (cellType !== null) row.types.set(column, cellType);
    }
  };

  return {
    open(name, tag) {
      if (!inData) {
        if (name === 'sheetData') inData = true;
        else if (name === 'dimension') checkDimension(tag.attributes.ref ?? '');
        return;
      }
      if (name === 'c') openCell(tag);
      else if (name === 'v') {
        collecting = hasValue ? null : 'value';
        isRepeated ||= hasValue;
        hasValue = true;
      } else if (name === 'row') openRow(tag);
      else if (name === 'f') hasFormula = true;
      else if (name === 'is') {
        inline = !hasInline;
        isRepeated ||= hasInline;
        hasInline = true;
      } else if (name === 't') collecting = inline && !phonetic ? 'inline' : null;
      else if (name === 'rPh') phonetic = true;
    },
    text(piece) {
      if (collecting === null) return;
      if (value.length + inlineText.length > maxCellBytes) valueTooLong = true;
      else if (collecting === 'value') value += piece;
      else inlineText += piece;
    },
    close(name) {
      if (!inData) return;
      if (name === 'v' || name === 't') collecting = null;
      else if (name === 'c') closeCell();
      else if (name === 'row') {
        if (row !== null && holdsSomething(row)) give(row);
        row = null;
      } else if (name === 'is') inline = false;
      else if (name === 'rPh') phonetic = false;
      else if (name === 'sheetData') inData = false;
    },
  };
}

function holdsSomething({ cells, beyond, notes, excess }: SheetRow): boolean {
  return cells.length > 0 || beyond.length > 0 || notes.length > 0 || excess !== null;
}

interface CellReading {
  text: string;
  cellType: CellType | null;
}

function readCell(
  type: string,
  style: string,
  value: string,
  context: SheetContext,
  note: (text: string) => void,
): CellReading {
  const plain = (text: string): CellReading => ({ text, cellType: null });
  switch (type) {
    case 's': {
      if (value.trim() === '') return plain('');
      const text = context.strings[Number(value)];
      if (text === undefined) note('the text that the cell refers to is not in the workbook');
      return plain(text ?? '');
    }
    case 'inlineStr':
    case 'str':
      return plain(decodeEscapes(value));
    case 'b': {
      const isTrue = value.trim() === '1' || value.trim() === 'true';
      return { text: isTrue ? 'TRUE' : 'FALSE', cellType: 'boolean' };
    }
    case 'e':
      note(`the cell holds the error ${value}`);
      return plain(value);
    case 'd': {
      const text = value.trim().replace(/(T00:00:00(\.0+)?)?Z?$/, '');
      return { text, cellType: dateTypeOf(text) };
    }
    default:
      return readNumber(value, style, context, note);
  }
}

function readNumber(
  value: string,
  style: string,
  context: SheetContext,
  note: (text: string) => void,
): CellReading {
  if (value.trim() === '') return { text: '', cellType: null };
  const kind = style === '' ? null : (context.styles[Number(style)] ?? null);
  const number = numberText(value);
  if (number === null) {
    note('the cell should hold a number and does not');
    return { text: value, cellType: null };
  }
  if (kind === null) {
    if (lacksDigits(value))
      note('the number has more digits than a spreadsheet keeps; store long ids as text');
    return { text: number, cellType: 'number' };
  }
  const date = dateText(Number(value), kind, context.date1904);
  if (date === null) note('the number is shown as a date and is none');
  return date === null ? { text: number, cellType: 'number' } : { text: date, cellType: dateTypeOf(date) };
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
