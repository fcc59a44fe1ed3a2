// Turns JSON lines into rows: one object or array per line. Blank lines are skipped. Any other line is rejected, and
// reading continues.
import type { FormatOptions, ReadLimits, RowReader } from '../row-reader.ts';
import { type JsonTable, jsonReader, tryJson } from './json-rows.ts';
import { readLines } from './read-lines.ts';
import { openText, type TextLines } from './text-sample.ts';

export async function openJsonl(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
  chunkBytes?: number,
): Promise<RowReader> {
  const text = await openText(path, options);
  const table = await tryJson('line', linesOf(path, text, limits, chunkBytes), options, limits);
  return jsonlReader(path, text, limits, table, chunkBytes);
}

function linesOf(path: string, { encoding, lineEnd }: TextLines, limits: ReadLimits, chunkBytes?: number) {
  const source = { path, encoding, lineEnd, maxLineBytes: limits.maxRowBytes };
  return readLines(chunkBytes === undefined ? source : { ...source, chunkBytes });
}

export function jsonlReader(
  path: string,
  text: TextLines,
  limits: ReadLimits,
  table: JsonTable | null,
  chunkBytes?: number,
): RowReader {
  return jsonReader('line', text, limits, table, () => linesOf(path, text, limits, chunkBytes));
}
