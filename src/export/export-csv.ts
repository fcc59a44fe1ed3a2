// Writes rows as CSV: RFC 4180 by default, or the dialect of the input file. Written by hand for speed: one check per
// cell, and only cells that need quotes cost more. Every chunk ends with a row, so that an interrupted export can
// resume after it.
import { cellReader, cellText, type ExportColumn } from '../core/files/export-columns.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import type { CsvDialect } from '../core/files/file-format.ts';
import { FORMULA_START } from '../core/files/formula-guard.ts';
import { CHUNK_BYTES, type ExportProgress } from './export-progress.ts';

export type CsvStyle = Pick<CsvDialect, 'bom' | 'delimiter' | 'quote' | 'escape' | 'lineEnd' | 'header'>;

export const STANDARD_CSV: CsvStyle = {
  bom: false,
  delimiter: ',',
  quote: '"',
  escape: '"',
  lineEnd: '\n',
  header: true,
};

export interface CsvOptions {
  style?: CsvStyle;
  /** Write cells that look like a formula unchanged. */
  raw?: boolean;
  /** Guard formulas so that reading the file again gives the same texts (core/files/formula-guard.ts). */
  isReversible?: boolean;
  /** Whole lines before the header. */
  preamble?: string;
  /** Resumes a file that already has its beginning: writes rows only. */
  isContinued?: boolean;
  chunkBytes?: number;
  progress?: ExportProgress;
}

export async function* exportCsv(
  rows: AsyncIterable<readonly ExportRow[]>,
  columns: readonly ExportColumn[],
  options: CsvOptions = {},
): AsyncGenerator<Buffer> {
  const { style = STANDARD_CSV, chunkBytes = CHUNK_BYTES } = options;
  const progress = options.progress ?? { rowCount: 0, seq: -1, bytes: 0 };
  const readCells = cellReader(columns);
  const lineOf = lineWriter(style, options);
  let text = options.isContinued ? '' : headOf(columns, options, lineOf);
  let rowCount = 0;
  let seq = progress.seq;
  const take = (): Buffer => {
    const chunk = Buffer.from(text);
    text = '';
    progress.rowCount += rowCount;
    rowCount = 0;
    progress.seq = seq;
    progress.bytes += chunk.length;
    return chunk;
  };
  for await (const page of rows) {
    for (const row of page) {
      text += lineOf(readCells(row));
      rowCount += 1;
      seq = row.seq;
      if (text.length >= chunkBytes) yield take();
    }
  }
  if (text !== '') yield take();
}

const BOM = '\ufeff';

function headOf(columns: readonly ExportColumn[], options: CsvOptions, lineOf: LineWriter): string {
  const { style = STANDARD_CSV, preamble = '' } = options;
  const text = (style.bom ? BOM : '') + preamble;
  return style.header ? text + lineOf(columns.map((column) => column.header)) : text;
}

type LineWriter = (cells: readonly unknown[]) => string;

/** A number in any notation with digits, points and commas. */
const NUMBER = /^[+-]?[.,]*\d[\d.,]*(?:[eE][+-]?\d+)?$/;

function lineWriter(style: CsvStyle, { raw = false, isReversible = false }: CsvOptions): LineWriter {
  const { delimiter, lineEnd } = style;
  const isBlank = delimiter === ' ';
  const inside = [
    ...new Set([style.quote, delimiter[0]!, style.quote === '' ? '' : style.escape, isBlank ? '\t' : '']),
  ];
  // A byte order mark is quoted, because readers drop an unquoted one at the beginning of the file.
  const special = `[\\r\\n${BOM}${inside.map(escapeForClass).join('')}]`;
  const formula = `^${isReversible ? "'*" : ''}[${FORMULA_START}]`;
  const startsFormula = new RegExp(formula);
  // One expression finds both cells that need quotes and possible formulas.
  const unusual = new RegExp(raw ? special : `${formula}|${special}`);
  const needsQuote = new RegExp(special);
  const quoted = quoteWriter(style);
  const looksAtNumbers = /[-+.\dEe]/.test(inside.join(''));

  const textCell = (text: string): string => {
    if (text === '') return isBlank ? quoted(text) : '';
    if (!unusual.test(text)) return text;
    if (!raw && startsFormula.test(text) && !NUMBER.test(text)) return quoted(`'${text}`);
    return needsQuote.test(text) ? quoted(text) : text;
  };
  const cell = (value: unknown): string => {
    if (typeof value === 'string') return textCell(value);
    if (typeof value === 'number' && !looksAtNumbers) return String(value);
    return value === null || value === undefined ? textCell('') : textCell(cellText(value));
  };
  return (cells) => {
    // Readers skip empty lines, so an empty single cell is quoted.
    if (cells.length === 1) return (cell(cells[0]) || quoted('')) + lineEnd;
    let line = cell(cells[0]);
    for (let i = 1; i < cells.length; i += 1) line += delimiter + cell(cells[i]);
    return line + lineEnd;
  };
}

function quoteWriter(style: CsvStyle): (text: string) => string {
  const { quote } = style;
  if (quote === '') return unquotedWriter(style.delimiter);
  const find = new RegExp(`[${[...new Set([quote, style.escape])].map(escapeForClass).join('')}]`, 'g');
  return (text) => quote + text.replace(find, (character) => style.escape + character) + quote;
}

/** In a dialect without quotes, replaces characters that would break the row. Cells read from such a file have none. */
function unquotedWriter(delimiter: string): (text: string) => string {
  if (delimiter === ' ') return (text) => text.replace(/[ \t\r\n]+/g, '_') || '-';
  return (text) => text.replace(/[\r\n]+/g, ' ').replaceAll(delimiter, ' ');
}

function escapeForClass(character: string): string {
  return character.replace(/[\\\]^-]/g, '\\$&');
}
