// One line that summarizes what a rerun changed.
import type { GenerationDiff } from '../core/jobs/generation-diff.ts';
import { rows } from './describe-stop.ts';
import { formatCount } from './progress-lines.ts';

export function describeDiff(diff: GenerationDiff): string {
  const parts = [
    `${formatCount(diff.fixed)} fixed`,
    `${formatCount(diff.newlyFailed)} newly failed`,
    `${formatCount(diff.newlyNotFound)} newly not found`,
    `${formatCount(diff.unchanged)} unchanged`,
  ];
  if (diff.otherResult > 0) parts[3] += ` (${formatCount(diff.otherResult)} with a different result)`;
  if (diff.added > 0) parts.push(`${formatCount(diff.added)} added`);
  return `Rerun of ${rows(diff.reprocessed)}: ${parts.join(', ')}`;
}
