// Progress of a job by status: one bar, with a text alternative.
import { formatCount, formatPercent } from '../lib/format.ts';
import { statusWord } from './status-chip.tsx';

const PARTS = [
  ['DONE', 'bg-good'],
  ['SKIPPED', 'bg-quiet'],
  ['NOT_FOUND', 'bg-warn'],
  ['ERROR', 'bg-bad'],
  ['CANCELLED', 'bg-line'],
  ['PROCESSING', 'bg-info'],
] as const;

export interface ProgressBarProps {
  counts: Partial<Record<string, number>>;
  total: number;
  className?: string;
}

export function ProgressBar({ counts, total, className = 'h-2' }: ProgressBarProps) {
  const of = (status: string): number => counts[status] ?? 0;
  const ended = PARTS.slice(0, 5).reduce((sum, [status]) => sum + of(status), 0);
  const words = PARTS.filter(([status]) => of(status) > 0).map(
    ([status]) => `${formatCount(of(status))} ${statusWord(status).toLowerCase()}`,
  );
  const label = `${formatPercent(total === 0 ? 0 : ended / total)} finished${words.length > 0 ? `: ${words.join(', ')}` : ''}`;
  return (
    <div
      role="img"
      aria-label={label}
      title={label}
      className={`flex w-full overflow-hidden rounded-full bg-quiet-soft ${className}`}
    >
      {total > 0 &&
        PARTS.map(([status, colour]) => (
          <div key={status} className={colour} style={{ width: `${(of(status) / total) * 100}%` }} />
        ))}
    </div>
  );
}
