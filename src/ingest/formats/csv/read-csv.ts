// Opens a CSV file or a variant of it: detects its dialect, then reads its rows. Each row is kept, kept with a note, or
// rejected. A file that is not a table, or was most likely misread, is refused.
import { createReadStream } from 'node:fs';
import type {
  CsvDialect,
  CsvShape,
  DetectedFormat,
  FormatOptions,
  ReadLimits,
  ReadRow,
  RowReader,
} from '../../row-reader.ts';
import { createTrial, type Trial } from '../refuse-misread.ts';
import { checkCsvOptions } from './check-csv-options.ts';
import { profileColumns } from './column-profiles.ts';
import { decodeText } from './decode-text.ts';
import { type DetectedDialect, detectDialect } from './detect-dialect.ts';
import { detectEncoding } from './detect-encoding.ts';
import { createRowJudge, type RowJudge } from './judge-row.ts';
import { readHeaders } from './read-headers.ts';
import { readSampleText, type SampleText } from './read-sample-text.ts';
import { skipLines } from './skip-lines.ts';
import { Tokenizer, type TokenizedRow } from './tokenize.ts';
import { topOfCsv } from './top-of-csv.ts';

const READ_BYTES = 256 * 1024;
const GATHER_CHARACTERS = 64 * 1024;
/** Limits of one batch of rows, so that large rows do not pile up. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
/** Fewer NUL characters than this are noted with their rows only. */
const MANY_NULS = 20;
const MAX_PREAMBLE_LENGTH = 10_000;
const MAX_SHOWN_PREAMBLE = 100;

/** `path`: a local, uncompressed file. */
export async function openCsv(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
  wantsTop = false,
): Promise<RowReader> {
  const stated = checkCsvOptions(options);
  const { encoding, bom } = await detectEncoding(path, stated.encoding);
  const sample = await readSampleText(path, encoding);
  const found = detectDialect(sample.text, sample.complete, stated);
  const { width, preamble, rows, quotesAreText, ...written } = found;
  const dialect: CsvDialect = { encoding, bom, ...written };
  const tokenized = () => tokenizeFile(path, dialect, limits);
  const headers = await readHeaders(tokenized(), dialect, width, stated.columns, limits);
  const shape = shapeOf(rows, width, headers.names.length);
  const rowJudge = createRowJudge(headers.names.length, shape, dialect, limits, stated.shortRows === 'pad');
  const trial = await tryRows(rowsAfterHeader(tokenized(), dialect), rowJudge, dialect, headers.names);
  const refusal = stated.delimiter === undefined ? trial.refusal() : null;
  // A preview shows a misread file, so that a person can choose another header row.
  if (refusal !== null && !wantsTop) throw refusal;
  const detected: DetectedFormat = {
    format: 'csv',
    encoding,
    csv: dialect,
    ...(preamble === '' ? {} : { preamble: preamble.slice(0, MAX_PREAMBLE_LENGTH) }),
    warnings: [
      ...encodingWarnings(dialect, stated, sample),
      ...dialectWarnings(found),
      ...headers.warnings,
      ...shapeWarnings(headers.names, shape),
      ...shiftWarnings(rowJudge.shifted(), trial.count()),
    ],
  };
  const reader = csvReader(path, { detected, headers: headers.names, shape }, options, limits);
  if (!wantsTop) return reader;
  return { ...reader, top: { rows: topOfCsv(sample, dialect), refusal: refusal?.message ?? null } };
}

/** `rows`: the rows of the sample after the header. */
function shapeOf(rows: string[][], mostHave: number, columns: number): CsvShape {
  const ofWidth = (width: number) => rows.filter((row) => row.length === width);
  const fitting = ofWidth(columns);
  const lackLast = columns > 2 ? ofWidth(columns - 1) : [];
  if (lackLast.length > fitting.length) {
    return { width: columns - 1, profiles: profileColumns(lackLast, columns) };
  }
  const wide = ofWidth(mostHave);
  if (mostHave > columns && wide.every((row) => row.slice(columns).every((cell) => cell.trim() === ''))) {
    return { width: mostHave, profiles: profileColumns(wide, columns) };
  }
  return { width: columns, profiles: profileColumns(fitting, columns) };
}

/** Reads the rows of an opened file in its detected dialect. */
export function csvReader(
  path: string,
  { detected, headers, shape }: { detected: DetectedFormat; headers: string[]; shape: CsvShape },
  { shortRows }: FormatOptions,
  limits: ReadLimits,
): RowReader {
  const dialect = detected.csv!;
  const { judge } = createRowJudge(headers.length, shape, dialect, limits, shortRows === 'pad');
  return {
    detected,
    headers,
    shape,
    rows: () => inBatches(rowsAfterHeader(tokenizeFile(path, dialect, limits), dialect), judge),
  };
}

async function* tokenizeFile(
  path: string,
  dialect: CsvDialect,
  limits: ReadLimits,
): AsyncGenerator<TokenizedRow[], void, undefined> {
  const tokenizer = new Tokenizer(dialect, limits, {
    line: dialect.skipLines + 1,
    gather: GATHER_CHARACTERS,
  });
  const bytes = createReadStream(path, { highWaterMark: READ_BYTES });
  const pieces = decodeText(bytes, dialect.encoding);
  for await (const piece of dialect.skipLines === 0 ? pieces : skipLines(pieces, dialect.skipLines)) {
    yield* tokenizer.push(piece.text, piece.damaged);
  }
  yield* tokenizer.end();
}

async function* rowsAfterHeader(
  batches: AsyncIterable<TokenizedRow[]>,
  dialect: CsvDialect,
): AsyncGenerator<TokenizedRow[], void, undefined> {
  let pending = dialect.header;
  for await (const rows of batches) {
    yield pending ? rows.slice(1) : rows;
    pending = false;
  }
}

async function* inBatches(
  batches: AsyncIterable<TokenizedRow[]>,
  judge: RowJudge['judge'],
): AsyncGenerator<ReadRow[], void, undefined> {
  let batch: ReadRow[] = [];
  let characters = 0;
  for await (const rows of batches) {
    for (const row of rows) {
      batch.push(judge(row));
      characters += row.raw.length;
      if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
      yield batch;
      batch = [];
      characters = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** Reads the first rows to check that the file was detected correctly. */
async function tryRows(
  batches: AsyncIterable<TokenizedRow[]>,
  { judge }: RowJudge,
  dialect: CsvDialect,
  headers: string[],
): Promise<Trial> {
  const trial = createTrial({
    fit: `fit the ${headers.length} columns`,
    how: `the file was read as ${describe(dialect)}`,
    hint: 'State the delimiter, the quote or the lines to skip if they were detected wrongly. See docs/files-csv.md.',
  });
  reading: for await (const rows of batches) {
    for (const row of rows) if (trial.add(judge(row), row.raw.length)) break reading;
  }
  return trial;
}

function describe({ encoding, delimiter, quote, header, skipLines }: CsvDialect): string {
  const parts = [
    encoding,
    delimiter === '' ? 'one column' : `delimiter ${JSON.stringify(delimiter)}`,
    quote === '' ? 'no quotes' : `quote ${quote}`,
    header ? `header on line ${skipLines + 1}` : 'no header',
  ];
  return parts.join(', ');
}

function encodingWarnings(dialect: CsvDialect, stated: FormatOptions, sample: SampleText): string[] {
  const { encoding } = dialect;
  const warnings: string[] = [];
  if (stated.encoding === undefined && !encoding.startsWith('utf-')) {
    warnings.push(
      `The file is not UTF-8. Its encoding was guessed to be ${encoding}; state the encoding if letters look wrong.`,
    );
  }
  if (sample.damaged) {
    warnings.push(`The file contains bytes that are not ${encoding}; they were replaced by U+FFFD.`);
  }
  if (sample.nuls >= MANY_NULS) {
    warnings.push(
      `The file contains NUL characters, ${sample.nuls} of them in its first part; they cannot be stored and become U+FFFD.`,
    );
  }
  return warnings;
}

function shapeWarnings(names: string[], { width }: CsvShape): string[] {
  if (width >= names.length) return [];
  const last = JSON.stringify(names.at(-1)!.slice(0, 100));
  return [
    `The header has ${names.length} names and most rows have ${width} cells: the last column, ${last}, is left empty in them. Check that values are under the right names.`,
  ];
}

function shiftWarnings(shifted: number, count: number): string[] {
  if (shifted === 0) return [];
  const rows = shifted === 1 ? '1 row' : `${shifted} rows`;
  return [
    `${rows} of the first ${count} looked shifted and will be rejected: a value probably contains an unquoted delimiter. Put such values in quotes.`,
  ];
}

function preambleWords(preamble: string): string {
  const lines = preamble.slice(0, MAX_PREAMBLE_LENGTH).split(/[\r\n]/);
  const text = lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' / ');
  return text.length > MAX_SHOWN_PREAMBLE ? `${text.slice(0, MAX_SHOWN_PREAMBLE - 1).toWellFormed()}…` : text;
}

function dialectWarnings({ delimiter, skipLines, preamble, quotesAreText }: DetectedDialect): string[] {
  const warnings: string[] = [];
  if (preamble !== '') {
    const text = preambleWords(preamble);
    warnings.push(
      skipLines === 1
        ? `The first line was not read as a row: ${text}. If it is data, choose another header row (--skip-lines).`
        : `The first ${skipLines} lines were not read as rows: ${text}. If they are data, choose another header row (--skip-lines).`,
    );
  }
  if (delimiter === '') warnings.push('No delimiter was found: every line is one cell.');
  if (quotesAreText) {
    warnings.push(
      'Quotes open cells but do not close them, so quotes are read as text. State the quote if that is wrong.',
    );
  }
  return warnings;
}
