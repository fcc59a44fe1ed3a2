// The work of this worker on each job right now. Reads every running call and every item that a limit holds back, so it
// is for a report every few seconds.
import type { JobCalls } from '../../core/jobs/job-calls.ts';
import { openItemsOf } from './call.ts';
import type { PhasePool } from './phase-pool.ts';

export function callsByJob(pools: readonly Pick<PhasePool, 'underWay'>[], nowMs: number): JobCalls[] {
  const byJob = new Map<string, JobCalls>();
  const of = (jobId: string): JobCalls => {
    const known = byJob.get(jobId);
    if (known) return known;
    const calls = { jobId, running: 0, oldestMs: 0, rateLimit: 0, budget: 0 };
    byJob.set(jobId, calls);
    return calls;
  };
  for (const { underWay } of pools) {
    for (const call of underWay.calls) {
      const items = openItemsOf(call);
      if (items.length === 0) continue;
      const calls = of(call.jobId);
      calls.running += items.length;
      calls.oldestMs = Math.max(calls.oldestMs, Math.round(nowMs - call.startedMs));
    }
    for (const { item, limit } of underWay.heldBack)
      of(item.lease.claim.jobId)[limit.isBudget ? 'budget' : 'rateLimit'] += 1;
  }
  return [...byJob.values()];
}
