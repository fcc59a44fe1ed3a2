// The number of rows that a rerun skips, and why.
import { formatCount } from '../../lib/format.ts';
import type { ReprocessPreview } from './use-reprocess-preview.ts';

/** Null: no rows are skipped. */
export function leftOutWords({ permanent, exhausted }: ReprocessPreview['leftOut']): string | null {
  const left = permanent + exhausted;
  if (left === 0) return null;
  const reasons = [
    permanent > 0 && `${formatCount(permanent)} permanent ${permanent === 1 ? 'failure' : 'failures'}`,
    exhausted > 0 && `${formatCount(exhausted)} over the retry limit`,
  ].filter((reason) => reason !== false);
  return `${formatCount(left)} ${left === 1 ? 'row' : 'rows'} skipped: ${reasons.join(', ')}.`;
}
