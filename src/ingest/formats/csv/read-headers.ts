// Reads the names of the columns as written in the file, or as the user states them. The code that stores them makes
// them unique and safe.
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import type { CsvDialect, ReadLimits } from '../../row-reader.ts';
import { readHeaderCells } from './read-header-cells.ts';
import type { TokenizedRow } from './tokenize.ts';

export interface Headers {
  names: string[];
  warnings: string[];
}

const MAX_HEADER_BYTES = 1024;

/** `width`: the number of cells that most rows have. */
export async function readHeaders(
  batches: AsyncIterable<TokenizedRow[]>,
  dialect: CsvDialect,
  width: number,
  columns: string[] | undefined,
  limits: ReadLimits,
): Promise<Headers> {
  const first = await readFirstRow(batches);
  if (first === null) {
    throw new RowmillError(
      'FILE_INVALID',
      `expected rows after the first ${dialect.skipLines} lines, got none`,
    );
  }
  if (width > limits.maxColumns || first.cells.length > limits.maxColumns) refuseColumns(limits);
  let headers: Headers;
  if (dialect.header) headers = readHeaderRow(first, dialect, width);
  else headers = { names: Array.from({ length: width }, (_, i) => `column_${i + 1}`), warnings: [] };
  if (columns === undefined) return headers;
  if (columns.length !== headers.names.length) {
    throw new RowmillError(
      'FILE_OPTION_INVALID',
      `expected the option columns to have ${headers.names.length} names, one per column of the file, got ${columns.length}`,
    );
  }
  return { names: columns, warnings: headers.warnings };
}

async function readFirstRow(batches: AsyncIterable<TokenizedRow[]>): Promise<TokenizedRow | null> {
  for await (const rows of batches) if (rows[0] !== undefined) return rows[0];
  return null;
}

function refuseColumns(limits: ReadLimits): never {
  throw new RowmillError(
    'FILE_TOO_LARGE',
    `expected the file to have at most ${limits.maxColumns} columns (ingestMaxColumns), got more`,
  );
}

function readHeaderRow(row: TokenizedRow, dialect: CsvDialect, width: number): Headers {
  const cells = readHeaderCells(row, dialect, width);
  if (cells === null) {
    throw new RowmillError('FILE_INVALID', `line ${row.line}, the header: ${row.rejected}`);
  }
  // Copy each name: a slice would keep the surrounding text in memory as long as the job is read.
  const names = cells.map((cell) => Buffer.from(cell.trim(), 'utf16le').toString('utf16le'));
  for (const [i, name] of names.entries()) {
    const bytes = Buffer.byteLength(name);
    if (bytes > MAX_HEADER_BYTES) {
      throw new RowmillError(
        'FILE_INVALID',
        `line ${row.line}: expected the name of column ${i + 1} to be at most ${MAX_HEADER_BYTES} bytes, got ${bytes}`,
        { hint: 'If the first row is not a header, set the option header to false.' },
      );
    }
  }
  const warnings: string[] = [];
  if (cells !== row.cells) {
    warnings.push('A quote in the header is not closed; the names were read without it.');
  }
  // The header ends with a delimiter and the rows do not, so the last column does not exist.
  const trailing = names.slice(width);
  if (width > 1 && trailing.length > 0 && trailing.every((name) => name === '')) {
    names.length = width;
    warnings.push('The header ends with an empty name that no row has a cell for; it was dropped.');
  }
  return { names, warnings };
}
