// What the exit code of a command says; docs/cli.md has the same list.
import type { FollowEnd } from './follow-job.ts';

export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  /** The job ended, and rows of it failed. */
  rowsFailed: 3,
  cancelled: 4,
  /** Ctrl-C. */
  stopped: 130,
} as const;

/** Of a command that followed a job. */
export function exitCodeOf({ how, job }: FollowEnd): number {
  if (how === 'stopped') return EXIT.stopped;
  if (how === 'waits') return EXIT.ok;
  if (job.state === 'FAILED') return EXIT.error;
  if (job.state === 'CANCELLED') return EXIT.cancelled;
  return job.counts.ERROR > 0 ? EXIT.rowsFailed : EXIT.ok;
}
