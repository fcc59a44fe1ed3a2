// Reads a sheet into rows of strings, as a stream. It knows cells, not headers: sheet-layout.ts finds the header.
import { type CellType, dateTypeOf } from '../../../core/files/cell-type.ts';
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import type { ReadLimits } from '../../row-reader.ts';
import type { ZipArchive, ZipEntry } from '../zip-archive.ts';
import { type DateKind, dateText, lacksDigits, numberText } from './cell-text.ts';
import { decodeEscapes } from './shared-strings.ts';
import { readXml, type XmlHandler, type XmlTag } from './xml-reader.ts';

export interface SheetRow {
  /** Row number of the sheet, from 1. */
  line: number;
  /** The first `maxColumns` cells, up to the last one that is not empty. */
  cells: string[];
  /** Filled cells after those, without the empty ones before them. */
  beyond: FarCell[];
  /** Types of cells that are not text, by column. */
  types: Map<number, CellType>;
  /** A formula of the row has no stored value. */
  lacksValue: boolean;
  /** Notes on cells that were read with a problem. */
  notes: string[];
  /** Why the row is too large; its cells are incomplete then. */
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
  /** Cells from this column on go to `beyond`: a value in the last column of a sheet must not cost 16,384 cells. */
  maxColumns: number;
  /** Gets the last row that the sheet declares to have. */
  onDimension?: (rows: number) => void;
}

const MAX_ROWS = 1_048_576;
const MAX_COLUMNS = 16_384;
/** Notes on more cells than this are not helpful. */
const MAX_NOTES = 5;
const MAX_FAR_CELLS = 20;

/** Yields rows that are not empty, in the order of the file. */
export async function* readSheetRows(
  archive: ZipArchive,
  entry: ZipEntry,
  context: SheetContext,
): AsyncGenerator<SheetRow[]> {
  let rows: SheetRow[] = [];
  const handler = new SheetHandler(context, (row) => rows.push(row));
  for await (const _ of readXml(archive.inflate(entry), entry.name, handler)) {
    if (rows.length === 0) continue;
    yield rows;
    rows = [];
  }
}

class SheetHandler implements XmlHandler {
  readonly #context: SheetContext;
  readonly #give: (row: SheetRow) => void;
  readonly #maxCellBytes: number;
  readonly #maxRowBytes: number;
  #inData = false;
  #line = 0;
  #row: SheetRow | null = null;
  #rowBytes = 0;
  #column = -1;
  #type = '';
  #style = '';
  /** Texts of <v> and of <is>. A cell should have one of them, but some files have both. */
  #value = '';
  #inlineText = '';
  #valueTooLong = false;
  #hasValue = false;
  #hasInline = false;
  #hasFormula = false;
  #isRepeated = false;
  #collecting: 'value' | 'inline' | null = null;
  #inline = false;
  #phonetic = false;

  constructor(context: SheetContext, give: (row: SheetRow) => void) {
    this.#context = context;
    this.#give = give;
    this.#maxCellBytes = context.limits.maxCellBytes;
    this.#maxRowBytes = context.limits.maxRowBytes;
  }

  open(name: string, tag: XmlTag): void {
    if (!this.#inData) {
      if (name === 'sheetData') this.#inData = true;
      else if (name === 'dimension') this.#context.onDimension?.(checkDimension(tag.attributes.ref ?? ''));
      return;
    }
    if (name === 'c') this.#openCell(tag);
    else if (name === 'v') {
      this.#collecting = this.#hasValue ? null : 'value';
      this.#isRepeated ||= this.#hasValue;
      this.#hasValue = true;
    } else if (name === 'row') this.#openRow(tag);
    else if (name === 'f') this.#hasFormula = true;
    else if (name === 'is') {
      this.#inline = !this.#hasInline;
      this.#isRepeated ||= this.#hasInline;
      this.#hasInline = true;
    } else if (name === 't') this.#collecting = this.#inline && !this.#phonetic ? 'inline' : null;
    else if (name === 'rPh') this.#phonetic = true;
  }

  text(piece: string): void {
    if (this.#collecting === null) return;
    if (this.#value.length + this.#inlineText.length > this.#maxCellBytes) this.#valueTooLong = true;
    else if (this.#collecting === 'value') this.#value += piece;
    else this.#inlineText += piece;
  }

  close(name: string): void {
    if (!this.#inData) return;
    if (name === 'v' || name === 't') this.#collecting = null;
    else if (name === 'c') this.#closeCell();
    else if (name === 'row') {
      if (this.#row !== null && holdsSomething(this.#row)) this.#give(this.#row);
      this.#row = null;
    } else if (name === 'is') this.#inline = false;
    else if (name === 'rPh') this.#phonetic = false;
    else if (name === 'sheetData') this.#inData = false;
  }

  #openRow({ attributes }: XmlTag): void {
    const given = attributes.r;
    this.#line = given === undefined ? this.#line + 1 : Number(given);
    if (!Number.isInteger(this.#line) || this.#line < 1 || this.#line > MAX_ROWS)
      throw outside(`row ${given ?? this.#line}`);
    this.#row = {
      line: this.#line,
      cells: [],
      beyond: [],
      types: new Map(),
      lacksValue: false,
      notes: [],
      excess: null,
    };
    this.#rowBytes = 0;
    this.#column = -1;
  }

  #openCell({ attributes }: XmlTag): void {
    const reference = attributes.r;
    this.#column = reference === undefined ? this.#column + 1 : columnOf(reference);
    if (this.#column >= MAX_COLUMNS) throw outside(`cell ${reference ?? `in column ${this.#column + 1}`}`);
    this.#type = attributes.t ?? 'n';
    this.#style = attributes.s ?? '';
    this.#value = '';
    this.#inlineText = '';
    this.#valueTooLong = false;
    this.#hasValue = false;
    this.#hasInline = false;
    this.#hasFormula = false;
    this.#isRepeated = false;
  }

  #closeCell(): void {
    const row = this.#row;
    if (row === null || (!this.#hasValue && !this.#hasInline && !this.#hasFormula)) return;
    const where = `${columnName(this.#column)}${this.#line}`;
    const note = (text: string): void => {
      if (row.notes.length < MAX_NOTES) row.notes.push(`${where}: ${text}`);
    };
    if (row.cells[this.#column]) throw twice(where);
    const isInline = this.#hasInline && (this.#type === 'inlineStr' || !this.#hasValue);
    if (this.#isRepeated) note('the cell has more than one value; the first is read');
    if (this.#hasInline && this.#hasValue && this.#value !== '' && this.#inlineText !== '')
      note(`the cell has both an inline text and a value; the ${isInline ? 'text' : 'value'} is read`);
    const lacksValue = this.#hasFormula && !isInline && this.#type !== 'str' && this.#value.trim() === '';
    if (lacksValue) {
      row.lacksValue = true;
      note('the formula has no stored value; save the file in a spreadsheet program to get one');
    }
    const { text, cellType } = lacksValue
      ? { text: '', cellType: null }
      : readCell(
          isInline ? 'inlineStr' : this.#type,
          this.#style,
          isInline ? this.#inlineText : this.#value,
          this.#context,
          note,
        );
    const bytes = text.length * 3 > this.#maxCellBytes ? Buffer.byteLength(text) : text.length;
    this.#rowBytes += bytes;
    if (this.#valueTooLong || bytes > this.#maxCellBytes) {
      row.excess = `cell ${where} has more than ${this.#maxCellBytes} bytes (ingestMaxCellBytes)`;
    } else if (this.#rowBytes > this.#maxRowBytes)
      row.excess = `the row has more than ${this.#maxRowBytes} bytes (ingestMaxRowBytes)`;
    else if (text === '') return;
    else if (this.#column >= this.#context.maxColumns) {
      if (row.beyond.length < MAX_FAR_CELLS) row.beyond.push({ column: this.#column, text });
    } else {
      while (row.cells.length < this.#column) row.cells.push('');
      row.cells[this.#column] = text;
      if (cellType !== null) row.types.set(this.#column, cellType);
    }
  }
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
    note('the value of the cell is not a number');
    return { text: value, cellType: null };
  }
  if (kind === null) {
    if (lacksDigits(value))
      note('the number has more digits than a spreadsheet keeps; store long ids as text');
    return { text: number, cellType: 'number' };
  }
  const date = dateText(Number(value), kind, context.date1904);
  if (date === null) note('the number has a date format but is not a valid date');
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

/** Returns the last row, 0 if none is given. */
function checkDimension(reference: string): number {
  let last = 0;
  for (const corner of reference.split(':')) {
    const [, letters, digits] = /^\$?([A-Za-z]+)\$?(\d+)$/.exec(corner) ?? [];
    if (letters === undefined) continue;
    columnOf(letters);
    if (Number(digits) > MAX_ROWS) throw outside(`row ${digits}`);
    last = Math.max(last, Number(digits));
  }
  return last;
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
