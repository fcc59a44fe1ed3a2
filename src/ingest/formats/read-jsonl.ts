// JSON lines to rows: one object a line, blank lines skipped. A line that is no object is rejected and the rest goes on.
import {
  type FormatOptions,
  MAX_RAW_LENGTH,
  type ReadLimits,
  type ReadRow,
  type RowReader,
} from '../row-reader.ts';
import { parseJsonRow } from './parse-json-row.ts';
import { DAMAGED_NOTE, readLines, type TextLine } from './read-lines.ts';
import { openText, type TextLines } from './text-sample.ts';

export async function openJsonl(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
  chunkBytes?: number,
): Promise<RowReader> {
  return jsonlReader(path, await openText(path, options), limits, chunkBytes);
}

export function jsonlReader(
  path: string,
  { encoding, lineEnd }: TextLines,
  limits: ReadLimits,
  chunkBytes?: number,
): RowReader {
  const source = { path, encoding, lineEnd, maxLineBytes: limits.maxRowBytes };
  return {
    detected: { format: 'jsonl', encoding, warnings: [] },
    headers: null,
    lineEnd,
    async *rows() {
      for await (const lines of readLines(chunkBytes === undefined ? source : { ...source, chunkBytes })) {
        const rows: ReadRow[] = [];
        for (const line of lines) {
          const row = toRow(line, limits);
          if (row !== null) rows.push(row);
        }
        if (rows.length > 0) yield rows;
      }
    },
  };
}

function toRow({ line, text, damaged, tooLong }: TextLine, limits: ReadLimits): ReadRow | null {
  const reject = (reason: string): ReadRow => ({
    kind: 'rejected',
    line,
    reason,
    raw: text.slice(0, MAX_RAW_LENGTH),
  });
  if (tooLong) return reject(`the line has more than ${limits.maxRowBytes} bytes (ingestMaxRowBytes)`);
  const parsed = parseJsonRow(text, limits);
  if (parsed.ok) {
    const repair = damaged ? joinNotes(DAMAGED_NOTE, parsed.repair) : parsed.repair;
    return { kind: 'object', line, object: parsed.object, repair };
  }
  return text.trim() === '' ? null : reject(parsed.reason);
}

export function joinNotes(...notes: (string | null)[]): string | null {
  const said = notes.filter((note) => note !== null);
  return said.length === 0 ? null : said.join('; ');
}
