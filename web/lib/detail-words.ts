// Details of an event or an audit entry in words: { ratePerSecond: 8, leftOut: { permanent: 2 } } becomes "rate per
// second 8" and "skipped: permanent 2". Empty values are omitted.

import { statusWord } from '../components/status-chip.tsx';
import { formatCount } from './format.ts';

/** Fields that the page calls something other than the API does. */
const NAMES: Record<string, string> = { leftOut: 'skipped' };
const COUNTS_ROWS = ['selected', 'items', 'itemCount'];

export function detailWords(detail: unknown): string[] {
  if (!isRecord(detail)) return [];
  return Object.entries(detail).flatMap(([name, value]) => {
    if (isEmpty(value)) return [];
    if (name === 'generation') return [`run ${String(value)}`];
    if (typeof value === 'number' && COUNTS_ROWS.includes(name))
      return [`${formatCount(value)} ${value === 1 ? 'row' : 'rows'}`];
    if (name === 'seqs' && Array.isArray(value)) return [`rows ${value.map(rangeWords).join(', ')}`];
    if (value === true) return [nameWords(name)];
    if (isRecord(value)) return [`${nameWords(name)}: ${detailWords(withoutZeros(value)).join(', ')}`];
    return [`${nameWords(name)} ${valueWords(value)}`];
  });
}

/** The selection of a run: { statuses: ['ERROR', 'NOT_FOUND'] } becomes "failed and not found rows". */
export function selectionWords(selection: unknown): string[] {
  if (!isRecord(selection)) return [];
  const { statuses, edited, ...rest } = selection;
  const words: string[] = [];
  if (Array.isArray(statuses) && statuses.length > 0)
    words.push(`${listWords(statuses.map((status) => statusWord(String(status)).toLowerCase()))} rows`);
  if (typeof edited === 'number')
    words.push(`${formatCount(edited)} edited ${edited === 1 ? 'row' : 'rows'}`);
  return [...words, ...detailWords(rest)];
}

/** "a", "a and b", "a, b and c". */
function listWords(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutZeros(counts: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}

function isEmpty(value: unknown): boolean {
  if (isRecord(value)) return detailWords(withoutZeros(value)).length === 0;
  return (
    value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

/** Stored ranges exclude their end. */
function rangeWords(range: unknown): string {
  if (!Array.isArray(range)) return String(range);
  const [from, to] = range as [number, number];
  return to - from === 1 ? formatCount(from) : `${formatCount(from)} to ${formatCount(to - 1)}`;
}

/** ratePerSecond: rate per second. */
function nameWords(name: string): string {
  if (NAMES[name] !== undefined) return NAMES[name];
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll('_', ' ');
}

function valueWords(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueWords).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
