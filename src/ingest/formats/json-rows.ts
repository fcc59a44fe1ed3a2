// Turns the elements of a JSON array, or the lines of a file, into rows: objects, or arrays that are the rows of a
// table. The beginning of the file decides which of the two it contains; a file with neither is refused.
import { cellText } from '../../core/files/export-columns.ts';
import type { TableLayout } from '../../core/files/file-format.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import {
  type FormatOptions,
  MAX_RAW_LENGTH,
  type ReadLimits,
  type ReadRow,
  type RowReader,
} from '../row-reader.ts';
import { findTable, type SampleRow, skipTitles } from './find-table.ts';
import { parseJsonRow, parseJsonValues } from './parse-json-row.ts';
import { DAMAGED_NOTE } from './read-lines.ts';
import { createTrial, TRIAL_ROWS } from './refuse-misread.ts';
import type { TextLines } from './text-sample.ts';

export interface JsonText {
  text: string;
  line: number;
  /** Invalid bytes were replaced. */
  damaged: boolean;
  /** Longer than ingestMaxRowBytes; the text is cut. */
  tooLong: boolean;
}

/** Returns null for a text that is not a row: a blank line, a title, a header. */
type JsonRowReader = (given: JsonText) => ReadRow | null;

/** The names and the position of a table of arrays. Null instead of a table means that the rows are objects. */
export interface JsonTable {
  headers: string[];
  table: TableLayout;
}

type Unit = 'line' | 'element';

const TRIAL_CHARACTERS = 8 * 1024 * 1024;

/** Create one per read: a table counts the rows before its first. */
function createJsonRowReader(unit: Unit, limits: ReadLimits, table: JsonTable | null): JsonRowReader {
  let toSkip =
    table === null ? 0 : table.table.skipLines + (table.table.header ? (table.table.headerRows ?? 1) : 0);
  const unitsAt = table?.table.unitsLine ?? 0;
  let count = 0;
  return (given) => {
    const { text, line, damaged, tooLong } = given;
    const reject = (reason: string): ReadRow => ({
      kind: 'rejected',
      line,
      reason,
      raw: text.slice(0, MAX_RAW_LENGTH).trimEnd(),
    });
    if (unit === 'line' && text.trim() === '' && !tooLong) return null;
    count += 1;
    if (count === unitsAt) return null;
    if (toSkip > 0) {
      toSkip -= 1;
      return null;
    }
    if (tooLong || (text.length * 3 > limits.maxRowBytes && Buffer.byteLength(text) > limits.maxRowBytes))
      return reject(`the ${unit} has more than ${limits.maxRowBytes} bytes (ingestMaxRowBytes)`);
    if (text === '') return reject('expected a JSON object, got nothing between two commas');
    const noted = (repair: string | null): string | null =>
      damaged ? (repair === null ? DAMAGED_NOTE : `${DAMAGED_NOTE}; ${repair}`) : repair;
    if (table === null) {
      const parsed = parseJsonRow(text, limits);
      if (!parsed.ok) return reject(parsed.reason);
      return { kind: 'object', line, object: parsed.object, repair: noted(parsed.repair) };
    }
    const parsed = parseJsonValues(text, limits);
    if (!parsed.ok) return reject(parsed.reason);
    const { values } = parsed;
    const { length } = table.headers;
    if (values.length !== length) return reject(`expected ${length} values, got ${values.length}`);
    return { kind: 'cells', line, cells: values, repair: noted(parsed.repair) };
  };
}

/** `open` starts to read the file's lines or elements; it is called once per read. */
export function jsonReader(
  unit: Unit,
  { encoding, lineEnd }: TextLines,
  limits: ReadLimits,
  table: JsonTable | null,
  open: () => AsyncIterable<JsonText[]>,
): RowReader {
  return {
    detected: {
      format: unit === 'line' ? 'jsonl' : 'json',
      encoding,
      ...(table !== null && { table: table.table }),
      warnings: table === null ? [] : warnOfSkipped(table),
    },
    headers: table?.headers ?? null,
    lineEnd,
    async *rows() {
      const read = createJsonRowReader(unit, limits, table);
      for await (const texts of open()) {
        const rows = texts.map(read).filter((row) => row !== null);
        if (rows.length > 0) yield rows;
      }
    },
  };
}

/** Reads the first elements or lines of a file, and refuses it if most of them would be rejected. */
export async function tryJson(
  unit: Unit,
  texts: AsyncIterable<JsonText[]>,
  options: FormatOptions,
  limits: ReadLimits,
): Promise<JsonTable | null> {
  const { found } = options;
  const sample: JsonText[] = [];
  let characters = 0;
  reading: for await (const some of texts) {
    for (const given of some) {
      if (unit === 'line' && given.text.trim() === '') continue;
      sample.push(given);
      characters += given.text.length;
      if (sample.length >= TRIAL_ROWS || characters >= TRIAL_CHARACTERS) break reading;
    }
  }
  if (found !== undefined && found.table === undefined) return null;
  const table = findJsonTable(sample, options, limits);
  if (found !== undefined) return table;
  const read = createJsonRowReader(unit, limits, table);
  const trial = createTrial({
    fit: table === null ? 'be JSON objects' : `have ${table.headers.length} values, one per column`,
    how: `the file was read as ${unit === 'line' ? 'JSON lines' : 'a JSON array'}`,
    hint: 'Use one object per line, an array of objects, or an array of arrays of equal length. See docs/files-other.md.',
  });
  for (const given of sample) {
    const row = read(given);
    if (row !== null) trial.add(row, 0);
  }
  trial.end();
  return table;
}

/** Returns null unless most of the rows are arrays. */
function findJsonTable(sample: JsonText[], options: FormatOptions, limits: ReadLimits): JsonTable | null {
  const rows: SampleRow[] = [];
  let arrays = 0;
  for (const { text } of sample) {
    const parsed = text.startsWith('[') ? parseJsonValues(text, limits) : null;
    if (parsed?.ok) arrays += 1;
    // A value that is not an array still counts as a row, so that positions are right.
    rows.push({ line: rows.length + 1, cells: parsed?.ok ? parsed.values.map(cellText) : [] });
  }
  if (arrays * 2 <= sample.length || arrays === 0) return null;
  const table = options.found?.table ?? layOut(rows, sample, options);
  const { header, skipLines, headerRows = 1 } = table;
  const names = header ? findTable(rows, skipLines, true).names : null;
  const width = names?.length ?? commonLength(rows.slice(skipLines));
  if (width > limits.maxColumns) {
    throw new RowmillError(
      'FILE_TOO_LARGE',
      `expected at most ${limits.maxColumns} columns (ingestMaxColumns), got ${width}`,
    );
  }
  const { columns } = options;
  if (columns !== undefined && columns.length !== width) {
    throw new RowmillError(
      'FILE_OPTION_INVALID',
      `expected the option columns to have ${width} names, one per value of a row, got ${columns.length}`,
    );
  }
  const given =
    names === null || headerRows === 2 ? names : rows[skipLines]!.cells.map((name) => name.trim());
  return {
    headers: columns ?? given ?? Array.from({ length: width }, (_, at) => `column_${at + 1}`),
    table,
  };
}

function layOut(rows: SampleRow[], sample: JsonText[], options: FormatOptions): TableLayout {
  const first = options.skipLines ?? skipTitles(rows, 0);
  const { headerRows, hasUnits } = findTable(rows, first, options.header);
  return {
    header: headerRows > 0,
    skipLines: first,
    line: sample[first]?.line ?? 1,
    ...(headerRows === 2 && { headerRows }),
    ...(hasUnits && { unitsLine: first + headerRows + 1 }),
  };
}

function commonLength(rows: SampleRow[]): number {
  const counts = new Map<number, number>();
  for (const { cells } of rows) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}

function warnOfSkipped({ table }: JsonTable): string[] {
  const warnings: string[] = [];
  const { skipLines, unitsLine } = table;
  if (skipLines > 0) {
    warnings.push(
      skipLines === 1
        ? 'The first array was not read as a row: the table begins after it.'
        : `The first ${skipLines} arrays were not read as rows: the table begins after them.`,
    );
  }
  if (unitsLine !== undefined) warnings.push(`Array ${unitsLine} holds units and was not read as a row.`);
  return warnings;
}
