// Opens a CSV file, or a relative of it: finds out how it is written, then gives its rows. Decides the fate of each row:
// kept, kept with a note, or rejected; and refuses files that are no table or were most likely read wrongly.
import { createReadStream } from 'node:fs';
import type {
  CsvDialect,
  DetectedFormat,
  FormatOptions,
  ReadLimits,
  ReadRow,
  RowReader,
} from '../../row-reader.ts';
import { createTrial } from '../refuse-misread.ts';
import { checkCsvOptions } from './check-csv-options.ts';
import { decodeText } from './decode-text.ts';
import { type DetectedDialect, detectDialect } from './detect-dialect.ts';
import { detectEncoding } from './detect-encoding.ts';
import { createRowJudge, type RowJudge } from './judge-row.ts';
import { readHeaders } from './read-headers.ts';
import { readSampleText, type SampleText } from './read-sample-text.ts';
import { skipLines } from './skip-lines.ts';
import { createTokenizer, type TokenizedRow } from './tokenize.ts';

const READ_BYTES = 256 * 1024;
const GATHER_CHARACTERS = 64 * 1024;
/** An array of rows ends at one of these, so that large rows do not pile up. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 4 * 1024 * 1024;
const MAX_PREAMBLE_LENGTH = 10_000;

/** `path`: a local file, not compressed. */
export async function openCsv(path: string, options: FormatOptions, limits: ReadLimits): Promise<RowReader> {
  const stated = checkCsvOptions(options);
  const { encoding, bom } = await detectEncoding(path, stated.encoding);
  const sample = await readSampleText(path, encoding);
  const found = detectDialect(sample.text, sample.complete, stated);
  const { width, preamble, ...written } = found;
  const dialect: CsvDialect = { encoding, bom, ...written };
  const tokenized = () => tokenizeFile(path, dialect, limits);
  const headers = await readHeaders(tokenized(), dialect, width, stated.columns, limits);
  const judge = createRowJudge(headers.names.length, encoding, limits, stated.shortRows === 'pad');
  if (stated.delimiter === undefined)
    await tryRows(rowsAfterHeader(tokenized(), dialect), judge, dialect, headers.names);
  const detected: DetectedFormat = {
    format: 'csv',
    encoding,
    csv: dialect,
    ...(preamble === '' ? {} : { preamble: preamble.slice(0, MAX_PREAMBLE_LENGTH) }),
    warnings: [...encodingWarnings(dialect, stated, sample), ...dialectWarnings(found), ...headers.warnings],
  };
  return csvReader(path, { detected, headers: headers.names }, options, limits);
}

/** The rows of a file that was opened before, as it was found to be written. */
export function csvReader(
  path: string,
  { detected, headers }: { detected: DetectedFormat; headers: string[] },
  { shortRows }: FormatOptions,
  limits: ReadLimits,
): RowReader {
  const dialect = detected.csv!;
  const judge = createRowJudge(headers.length, dialect.encoding, limits, shortRows === 'pad');
  return {
    detected,
    headers,
    rows: () => inBatches(rowsAfterHeader(tokenizeFile(path, dialect, limits), dialect), judge),
  };
}

async function* tokenizeFile(
  path: string,
  dialect: CsvDialect,
  limits: ReadLimits,
): AsyncGenerator<TokenizedRow[], void, undefined> {
  const tokenizer = createTokenizer(dialect, limits, {
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
  judge: RowJudge,
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

async function tryRows(
  batches: AsyncIterable<TokenizedRow[]>,
  judge: RowJudge,
  dialect: CsvDialect,
  headers: string[],
): Promise<void> {
  const trial = createTrial({
    fit: `fit the ${headers.length} columns`,
    how: `the file was read as ${describe(dialect)}`,
    hint: 'State the delimiter, the quote or the lines to skip if they were detected wrongly; docs/files-csv.md says how.',
  });
  reading: for await (const rows of batches) {
    for (const row of rows) if (trial.add(judge(row), row.raw.length)) break reading;
  }
  trial.end();
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
    warnings.push(`The file holds bytes that are not ${encoding}; they were replaced by U+FFFD.`);
  }
  return warnings;
}

function dialectWarnings({ delimiter, skipLines, preamble }: DetectedDialect): string[] {
  const warnings: string[] = [];
  if (preamble !== '') {
    warnings.push(
      `${skipLines === 1 ? 'The first line was' : `The first ${skipLines} lines were`} not read as rows.`,
    );
  }
  if (delimiter === '') warnings.push('No delimiter was found: every line is one cell.');
  return warnings;
}
