// How a worker learns what owners asked for: a few times a second it looks at the states of the jobs it holds leases
// of. The database decides; a claim or flush that comes too late is refused there. This only makes it soon.
import { CLAIMABLE_STATES, type JobState } from '../../core/jobs/job-state.ts';
import { coversBudget } from '../../core/limits/work-budget.ts';
import type { Executor } from '../../platform/database.ts';
import { findJobStates } from '../../store/views/jobs/find-job-states.ts';
import type { Lease } from '../leases/lease.ts';

export interface ControlledLeases {
  leases: () => Iterable<Lease>;
  /** Start no more items of these leases; running items continue. */
  onPaused: (leases: readonly Lease[]) => void;
  /** Drop these leases, running items included. */
  onCancelled: (leases: readonly Lease[]) => void;
}

export async function obeyControl(db: Executor, held: ControlledLeases): Promise<void> {
  const jobIds = new Set([...held.leases()].map((lease) => lease.claim.jobId));
  if (jobIds.size === 0) return;
  const states = await findJobStates(db, [...jobIds]);
  const paused: Lease[] = [];
  const cancelled: Lease[] = [];
  for (const lease of held.leases()) {
    const { jobId } = lease.claim;
    // Claimed while the answer was on its way.
    if (!jobIds.has(jobId)) continue;
    const { state, endedGeneration = 0, budget = null } = states.get(jobId) ?? {};
    // The job ended and was opened again before this worker looked: the lease belongs to a generation that is over.
    if (lease.claim.generation <= endedGeneration) {
      cancelled.push(lease);
      continue;
    }
    // What was claimed before there was a budget is claimed again under it.
    if (state === 'PAUSED' || (isOpen(state) && !coversBudget(lease.claim.budget, budget))) {
      if (!lease.isStopped) paused.push(lease);
    } else if (state === undefined || state === 'CANCELLING' || state === 'CANCELLED' || state === 'FAILED') {
      cancelled.push(lease);
    }
  }
  held.onCancelled(cancelled);
  held.onPaused(paused);
}

function isOpen(state: JobState | undefined): boolean {
  return state !== undefined && CLAIMABLE_STATES.includes(state);
}
