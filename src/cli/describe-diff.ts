// What a generation changed, in one line.
import type { GenerationDiff } from '../core/jobs/generation-diff.ts';
import { formatCount } from './progress-lines.ts';

export function describeDiff(diff: GenerationDiff): string {
  const parts = [
    `${formatCount(diff.fixed)} fixed`,
    `${formatCount(diff.newlyFailed)} newly failed`,
    `${formatCount(diff.unchanged)} unchanged`,
  ];
  if (diff.otherResult > 0) parts[2] += ` (${formatCount(diff.otherResult)} with another result)`;
  if (diff.added > 0) parts.push(`${formatCount(diff.added)} added`);
  return `of ${formatCount(diff.reprocessed)} rows that ran again: ${parts.join(', ')}`;
}
