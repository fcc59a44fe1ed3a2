// Why a job does not go on, in a few words for the list; its own screen says more, and what to do.
import type { z } from 'zod';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import type { listedJob } from '../../../src/contract/jobs.ts';
import { CLAIMABLE_STATES } from '../../../src/core/jobs/job-state.ts';
import { formatCount } from '../../lib/format.ts';

type Reasons = Pick<
  z.infer<typeof listedJob>,
  'pausedBecause' | 'blockedBecause' | 'lastError' | 'held' | 'state'
>;

/** `live` is what was heard of the job since it was listed. */
export function becauseWords(job: Reasons, live: Pick<ProgressEvent, 'counts' | 'state'>): string | null {
  const { counts, state } = live;
  if (state === 'FAILED') return job.lastError;
  if (state === 'PAUSED') return job.pausedBecause;
  const isWorkedOn = (counts.PROCESSING ?? 0) > 0;
  if (isWorkedOn || !CLAIMABLE_STATES.includes(state)) return null;
  // A job that was started since is not blocked any more.
  if (job.blockedBecause !== null && state === job.state) return job.blockedBecause;
  const isOver = state !== 'INGESTING' && job.held > 0 && (counts.PENDING ?? 0) <= job.held;
  if (!isOver) return null;
  return `Test run finished — ${formatCount(job.held)} ${job.held === 1 ? 'row' : 'rows'} waiting`;
}
