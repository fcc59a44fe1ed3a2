// Rows that a reprocess leaves out, and why.
import { formatCount } from '../../lib/format.ts';
import type { ReprocessPreview } from './use-reprocess-preview.ts';

/** Null: none is. */
export function leftOutWords({ permanent, exhausted }: ReprocessPreview['leftOut']): string | null {
  const left = permanent + exhausted;
  if (left === 0) return null;
  const reasons = [
    permanent > 0 && `${formatCount(permanent)} failed permanently`,
    exhausted > 0 && `${formatCount(exhausted)} reached the limit of attempts`,
  ].filter((reason) => reason !== false);
  return `${formatCount(left)} ${left === 1 ? 'row is' : 'rows are'} left out: ${reasons.join(', ')}.`;
}
