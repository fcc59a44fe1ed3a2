// The reason why a job is not making progress, in one line for the list.
import type { z } from 'zod';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import type { listedJob } from '../../../src/contract/jobs.ts';
import { CLAIMABLE_STATES } from '../../../src/core/jobs/job-state.ts';
import { formatCount } from '../../lib/format.ts';

type Reasons = Pick<
  z.infer<typeof listedJob>,
  'pausedBecause' | 'blockedBecause' | 'lastError' | 'held' | 'state'
>;

/** `live` is the job, or a newer progress event. */
export function becauseWords(job: Reasons, live: Pick<ProgressEvent, 'counts' | 'state'>): string | null {
  const { counts, state } = live;
  if (state === 'FAILED') return job.lastError;
  if (state === 'PAUSED') return job.pausedBecause;
  const isWorkedOn = (counts.PROCESSING ?? 0) > 0;
  if (isWorkedOn || !CLAIMABLE_STATES.includes(state)) return null;
  // A job that has started since is no longer blocked.
  if (job.blockedBecause !== null && state === job.state) return job.blockedBecause;
  const isOver = state !== 'INGESTING' && job.held > 0 && (counts.PENDING ?? 0) <= job.held;
  if (!isOver) return null;
  return `Test run finished — ${formatCount(job.held)} ${job.held === 1 ? 'row' : 'rows'} waiting`;
}
