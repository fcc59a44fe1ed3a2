// The number of rows that a retry or rerun leaves out, and why.
import { formatCount } from '../../lib/format.ts';
import type { ReprocessPreview } from './use-reprocess-preview.ts';

/** Null: no rows are left out. */
export function leftOutWords(
  verb: 'Retry' | 'Rerun',
  { permanent, exhausted }: ReprocessPreview['leftOut'],
): string | null {
  const left = permanent + exhausted;
  if (left === 0) return null;
  const one = left === 1;
  const rows = `${formatCount(left)} ${one ? 'row is' : 'rows are'} not ${verb === 'Retry' ? 'retried' : 'rerun'}`;
  if (exhausted === 0)
    return `${rows}: ${one ? 'it would fail again. Correct it first.' : 'they would fail again. Correct them first.'}`;
  if (permanent === 0) return `${rows}: ${one ? 'it is' : 'they are'} over the retry limit.`;
  return `${rows}: ${formatCount(permanent)} would fail again (correct ${permanent === 1 ? 'it' : 'them'} first), ${formatCount(exhausted)} over the retry limit.`;
}
