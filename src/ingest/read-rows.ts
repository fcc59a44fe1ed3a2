// Chooses how to read a file of rows.
import { accessSync, constants } from 'node:fs';
import { extname } from 'node:path';
import { RowmillError } from '../core/rowmill-error.ts';
import { readCsv } from './formats/csv.ts';
import { readJsonLines } from './formats/jsonl.ts';

export function readRows(path: string): AsyncGenerator<Record<string, unknown>> {
  try {
    accessSync(path, constants.R_OK);
  } catch (cause) {
    throw new RowmillError('FILE_INVALID', `cannot read ${path}: ${(cause as Error).message}`, {
      hint: 'Check the path of the file.',
      cause,
    });
  }
  const extension = extname(path).toLowerCase();
  if (extension === '.csv') return readCsv(path);
  if (extension === '.tsv') return readCsv(path, '\t');
  if (extension === '.jsonl' || extension === '.ndjson') return readJsonLines(path);
  throw new RowmillError('FILE_INVALID', `expected ${path} to be a .csv, .tsv, .jsonl or .ndjson file`, {
    hint: 'Give the file the ending of its format.',
  });
}
