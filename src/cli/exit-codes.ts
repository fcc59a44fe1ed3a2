// Exit codes of commands; docs/cli.md has the same list.
import type { FollowEnd } from './show-progress.ts';

export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  /** The job finished with failed rows. */
  rowsFailed: 3,
  /** A budget or a person paused, held or cancelled the job, so rows have no result. */
  unfinished: 4,
  /** Ctrl-C. */
  stopped: 130,
} as const;

/** Exit code of a command that followed a job. `asked` are the options with which the command created it. */
export function exitCodeOf({ how, job }: FollowEnd, asked: { hold?: boolean; trial?: number } = {}): number {
  if (how === 'stopped') return EXIT.stopped;
  if (job.state === 'FAILED') return EXIT.error;
  if (job.state === 'CANCELLED') return EXIT.unfinished;
  if (how === 'waits' && !isHeldAsAsked(job, asked)) return EXIT.unfinished;
  return job.counts.ERROR > 0 ? EXIT.rowsFailed : EXIT.ok;
}

/** True if the job stopped because of the command's own --hold or --trial. */
function isHeldAsAsked(
  { state, pausedBecause }: FollowEnd['job'],
  { hold, trial }: { hold?: boolean; trial?: number },
): boolean {
  return state === 'PAUSED' ? hold === true && pausedBecause === null : trial !== undefined;
}
