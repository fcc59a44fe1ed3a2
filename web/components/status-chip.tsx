// Statuses of rows and states of jobs as a word and a colour, never as a colour alone.
import { classNames } from '../lib/class-names.ts';

const TONES: Record<string, string> = {
  DONE: 'bg-good-soft text-good',
  ERROR: 'bg-bad-soft text-bad',
  FAILED: 'bg-bad-soft text-bad',
  NOT_FOUND: 'bg-warn-soft text-warn',
  RETRYING: 'bg-warn-soft text-warn',
  PAUSED: 'bg-warn-soft text-warn',
  HELD: 'bg-warn-soft text-warn',
  PROCESSING: 'bg-info-soft text-info',
  RUNNING: 'bg-info-soft text-info',
  INGESTING: 'bg-info-soft text-info',
  FINALIZING: 'bg-info-soft text-info',
  DELIVERED: 'bg-good-soft text-good',
  ACTIVE: 'bg-good-soft text-good',

  DEAD: 'bg-bad-soft text-bad',
  CANCELLING: 'bg-quiet-soft text-quiet',
  PARTLY_SUCCEEDED: 'bg-warn-soft text-warn',
  NONE_SUCCEEDED: 'bg-bad-soft text-bad',
};

/** Statuses that the page calls something other than the API does. */
const WORDS: Record<string, string> = {
  ERROR: 'Failed',
  PROCESSING: 'On a worker',
  HELD: 'On hold',
  ACTIVE: 'Enabled',
  DEAD: 'Failed',
};

export function statusWord(status: string): string {
  if (WORDS[status] !== undefined) return WORDS[status];
  const word = status.replaceAll('_', ' ').toLowerCase();
  return word.charAt(0).toUpperCase() + word.slice(1);
}

export function StatusChip({ status, className }: { status: string; className?: string }) {
  return (
    <span
      className={classNames(
        'inline-flex items-center rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
        TONES[status] ?? 'bg-quiet-soft text-quiet',
        className,
      )}
    >
      {statusWord(status)}
    </span>
  );
}

const OUTCOMES: Record<string, string> = { partly: 'PARTLY_SUCCEEDED', failed: 'NONE_SUCCEEDED' };

/** Shown beside the state of a finished job in which rows failed. */
export function OutcomeChip({ state, outcome }: { state: string | null; outcome: string | null }) {
  const status = state === 'DONE' && outcome !== null ? OUTCOMES[outcome] : undefined;
  return status === undefined ? null : <StatusChip status={status} />;
}
