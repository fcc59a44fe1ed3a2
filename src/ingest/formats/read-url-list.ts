// Turns a list of URLs into rows, one per line. Blank lines and lines that begin with # are skipped. A line that is not
// a URL is rejected.
import {
  type FormatOptions,
  MAX_RAW_LENGTH,
  type ReadLimits,
  type ReadRow,
  type RowReader,
} from '../row-reader.ts';
import { DAMAGED_NOTE, readLines, type TextLine } from './read-lines.ts';
import { openText, type TextLines } from './text-sample.ts';

export async function openUrlList(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
): Promise<RowReader> {
  return urlListReader(path, await openText(path, options), limits);
}

export function urlListReader(path: string, { encoding, lineEnd }: TextLines, limits: ReadLimits): RowReader {
  return {
    detected: { format: 'urls', encoding, warnings: [] },
    headers: ['url'],
    lineEnd,
    async *rows() {
      for await (const lines of readLines({ path, encoding, lineEnd, maxLineBytes: limits.maxCellBytes })) {
        const rows = lines.flatMap((line) => toRow(line, limits) ?? []);
        if (rows.length > 0) yield rows;
      }
    },
  };
}

function toRow({ line, text, damaged, tooLong }: TextLine, limits: ReadLimits): ReadRow | null {
  const url = text.trim();
  if (url === '' || url.startsWith('#')) return null;
  const reason = tooLong
    ? `the line has more than ${limits.maxCellBytes} bytes (ingestMaxCellBytes)`
    : explainNoUrl(url);
  if (reason !== null) return { kind: 'rejected', line, reason, raw: text.slice(0, MAX_RAW_LENGTH) };
  return { kind: 'cells', line, cells: [url], repair: damaged ? DAMAGED_NOTE : null };
}

export function isHttpUrl(text: string): boolean {
  return explainNoUrl(text) === null;
}

function explainNoUrl(text: string): string | null {
  if (!/^https?:\/\//i.test(text)) return 'expected a URL that begins with http:// or https://';
  if (/\s/.test(text)) return 'expected one URL without spaces';
  return URL.canParse(text) ? null : 'expected a valid URL';
}
