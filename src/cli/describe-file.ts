// Describes a file and its rows in a few lines of text.
import type { DetectedFormat, IngestReport } from '../core/files/file-format.ts';
import type { InputColumn } from '../core/items/input-column.ts';
import type { RowCheck } from '../ingest/check-rows.ts';
import { rows } from './describe-stop.ts';
import { formatCount, printable } from './progress-lines.ts';

const MAX_COLUMNS = 12;
const DELIMITERS: Record<string, string> = { '\t': 'tab', ' ': 'space' };

export function describeFormat(detected: DetectedFormat): string {
  const parts: string[] = [detected.format];
  if (detected.compression) parts.push(`in ${detected.compression}`);
  const { csv } = detected;
  if (csv) {
    parts.push(`${csv.encoding}${csv.bom ? ' with BOM' : ''}`);
    parts.push(
      csv.delimiter === ''
        ? 'one column'
        : `delimiter ${DELIMITERS[csv.delimiter] ?? JSON.stringify(csv.delimiter)}`,
    );
    if (csv.quote === '') parts.push('no quotes');
    else if (csv.quote !== '"') parts.push(`quote ${csv.quote}`);
    if (csv.quote !== '' && csv.escape !== csv.quote) parts.push(`escape ${csv.escape}`);
    parts.push(csv.header ? `header on line ${csv.skipLines + 1}` : 'no header');
  } else if (detected.encoding) parts.push(detected.encoding);
  const { sheet, sheets = [], table } = detected;
  if (sheet) {
    const which = sheets.length > 1 ? ` (${sheets.indexOf(sheet) + 1} of ${sheets.length})` : '';
    parts.push(`sheet ${JSON.stringify(sheet)}${which}`);
  }
  if (table) {
    const rows = table.headerRows === 2 ? `rows ${table.line} and ${table.line + 1}` : `row ${table.line}`;
    if (table.header) parts.push(sheet ? `header in ${rows}` : `header on line ${table.line}`);
    else parts.push('no header');
  }
  return printable(parts.join(', '));
}

export function describeColumns(columns: InputColumn[]): string {
  if (columns.length === 0) return 'Columns: found while reading';
  const named = columns
    .slice(0, MAX_COLUMNS)
    .map(({ key, header }) => printable(key === header.trim() ? key : `${header.trim()} → ${key}`));
  const more = columns.length > MAX_COLUMNS ? ` and ${columns.length - MAX_COLUMNS} more` : '';
  const count = columns.length === 1 ? '1 column' : `${columns.length} columns`;
  return `${count}: ${named.join(', ')}${more}`;
}

/** Counts the rows that would not run, with the first reasons. */
export function describeCheck({
  rows,
  rejected,
  refused,
  reasons,
  wholeFile,
  stoppedBy,
}: RowCheck): string[] {
  const because = stoppedBy === 'time' ? ' (the check ran out of time)' : '';
  const all = rows === 1 ? 'the only row' : `all ${formatCount(rows)} rows`;
  const of = wholeFile ? all : `the first ${formatCount(rows)} rows${because}`;
  if (rejected + refused === 0) return [`Checked ${of}: the pipeline's input accepts them`];
  const counts = [
    ...(refused > 0 ? [`${formatCount(refused)} refused by the pipeline's input`] : []),
    ...(rejected > 0 ? [`${formatCount(rejected)} rejected as unreadable`] : []),
  ];
  return [
    `Checked ${of}: ${counts.join(', ')}`,
    ...reasons.map(({ line, reason }) => `  Line ${line}: ${printable(reason)}`),
  ];
}

/** Null if every row was read without a remark. */
export function describeReport(report: Partial<IngestReport>): string | null {
  const notable = [
    ['rejected', report.rejected],
    ['repaired', report.repaired],
    ['invalid', report.invalid],
    ['with a reused result', report.takenOver],
  ].filter(([, count]) => Number(count ?? 0) > 0);
  if (notable.length === 0) return null;
  const counts = notable.map(([what, count]) => `${formatCount(Number(count))} ${what}`);
  return `${rows(report.read ?? 0)} read: ${counts.join(', ')}`;
}

/** Counts the emitted rows that did not become part of the job; null if there are none. */
export function describeLeftOut({ tooDeep = 0, tooMany = 0 }: Partial<IngestReport>): string | null {
  const reasons = [
    ...(tooDeep > 0 ? [`${formatCount(tooDeep)} deeper than emitMaxDepth`] : []),
    ...(tooMany > 0 ? [`${formatCount(tooMany)} past emitMaxItems`] : []),
  ];
  return reasons.length === 0 ? null : `Emitted rows left out: ${reasons.join(', ')}`;
}
