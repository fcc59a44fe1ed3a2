// Applies pause and cancel requests: polls the states of the jobs this worker holds leases of, a few times a second.
// The database enforces them by refusing late claims and flushes; polling only makes them take effect sooner.
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
    // Claimed during the query.
    if (!jobIds.has(jobId)) continue;
    const { state, endedGeneration = 0, budget = null } = states.get(jobId) ?? {};
    // The job finished and was reopened before this poll: the lease belongs to an earlier generation.
    if (lease.claim.generation <= endedGeneration) {
      cancelled.push(lease);
      continue;
    }
    // Items claimed before a budget was set are returned, to be claimed again under it.
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
