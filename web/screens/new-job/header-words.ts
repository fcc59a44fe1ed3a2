// Describes which rows of the file name the columns and which are skipped.
import { formatCount } from '../../lib/format.ts';
import type { Preview } from './column-choices.ts';

export type Top = NonNullable<Preview['top']>;
export type RowRole = 'skipped' | 'header' | 'data';

/** `firstLine`: the first line of the table, with its header. */
export function roleOf(line: number, headerLines: readonly number[], firstLine: number): RowRole {
  if (headerLines.includes(line)) return 'header';
  return line < firstLine ? 'skipped' : 'data';
}

/** Rows from the top of the file to some rows of data. */
export function shortTop({ rows, headerLines }: Top, skipLines: number): Top['rows'] {
  const last = headerLines.at(-1) ?? skipLines;
  const end = rows.findIndex(({ line }) => line > last);
  return rows.slice(0, (end < 0 ? rows.length : end) + DATA_ROWS);
}

const DATA_ROWS = 3;

export function headerWords({ rows, headerLines }: Top, skipLines: number): string {
  const first = headerLines[0] ?? skipLines + 1;
  const skipped = rows.filter(({ line }) => line < first);
  const header =
    headerLines.length === 0
      ? 'No row names the columns.'
      : headerLines.length === 1
        ? `Row ${formatCount(first)} names the columns.`
        : `Rows ${headerLines.map(formatCount).join(' and ')} name the columns.`;
  if (skipped.length === 0) return header;
  const [from, to] = [skipped[0]!.line, skipped.at(-1)!.line];
  const above =
    skipped.length === 1
      ? `Row ${formatCount(from)} above it is skipped.`
      : `Rows ${formatCount(from)}–${formatCount(to)} above it are skipped.`;
  return `${header} ${above}`;
}

export function sheetWords({ rows, isCounted, isHidden }: NonNullable<Top['sheets']>[number]): string {
  const count =
    rows === 0 ? 'empty' : `${isCounted ? '' : 'about '}${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  return isHidden ? `${count}, hidden` : count;
}
