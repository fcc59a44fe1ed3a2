// The first rows of a CSV file for a preview, in the detected dialect. Lines above the table are read one by one: a
// quote in a title must not swallow the header.
import type { CsvDialect, TopRow } from '../../row-reader.ts';
import { topRows } from '../top-rows.ts';
import type { SampleText } from './read-sample-text.ts';
import { readSample } from './score-dialect.ts';

const MAX_CHARACTERS = 64 * 1024;

export function topOfCsv({ text, complete }: SampleText, dialect: CsvDialect): TopRow[] {
  return topRows(rowsOf(text.slice(0, MAX_CHARACTERS), complete, dialect));
}

function* rowsOf(
  text: string,
  complete: boolean,
  dialect: CsvDialect,
): Generator<{ line: number; cells: string[] }> {
  const lineEnd = /\r\n|\r|\n/g;
  let at = 0;
  for (let line = 1; line <= dialect.skipLines && at < text.length; line += 1) {
    const end = lineEnd.exec(text);
    const written = text.slice(at, end?.index ?? text.length);
    if (written.trim() !== '') yield { line, cells: readSample(written, true, dialect)[0]?.cells ?? [] };
    at = end === null ? text.length : lineEnd.lastIndex;
  }
  const isCut = text.length === MAX_CHARACTERS;
  for (const { line, cells, raw } of readSample(text.slice(at), complete && !isCut, dialect))
    yield { line: line + dialect.skipLines, cells: cells.length === 0 ? [raw] : cells };
}
