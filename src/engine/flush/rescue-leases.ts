// Takes back the leases of dead workers. Any number of processes may run this at the same time: it skips rows that
// are locked, and taking a lease back destroys its token, which fences the old holder.

import { errorSignature } from '../../core/errors/error-signature.ts';
import { countSeqs, eachSeq, formatRanges } from '../../core/items/seq-ranges.ts';
import { type CrashVerdict, crashMessage, judgeCrash, judgeExpiry } from '../../core/retries/crash-policy.ts';
import type { Transaction } from '../../platform/database.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { takeBackContributions } from '../../store/commands/counters/take-back-contributions.ts';
import { OutcomeLines } from '../../store/commands/items/copy-outcomes.ts';
import { emptyLedgerCounts, insertLedgerEntry } from '../../store/commands/results/insert-ledger-entry.ts';
import { upsertErrorGroups } from '../../store/commands/results/upsert-error-groups.ts';
import { insertSpans } from '../../store/commands/spans/insert-spans.ts';
import {
  deleteSpan,
  type LostBy,
  type LostLease,
  lockLostLeases,
  requeueSpan,
} from '../../store/commands/spans/lock-lost-leases.ts';
import { CounterRangeError, explainRange, STILL_COUNTS } from '../counters/counter-range-error.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeIfComplete } from '../jobs/finalize-if-complete.ts';

const LEASES_PER_ROUND = 100;

export interface RescueReport {
  leases: number;
  failedItems: number;
}

/** Takes back expired leases (of one job or of all), or all leases of a worker that is known to be dead. */
export async function rescueLeases(
  context: EngineContext,
  lostBy: LostBy = 'expired',
): Promise<RescueReport> {
  const total: RescueReport = { leases: 0, failedItems: 0 };
  for (;;) {
    const { settled, isLast } = await settleRound(context, lostBy);
    for (const { lease, failed } of settled) {
      total.leases += 1;
      total.failedItems += failed;
      const { jobId, phase, workerId } = lease;
      context.events.emit('lease.rescued', {
        jobId,
        phase,
        workerId,
        items: countSeqs(lease.items),
        failed,
      });
    }
    const failedJobs = settled.filter(({ failed }) => failed > 0).map(({ lease }) => lease.jobId);
    for (const jobId of new Set(failedJobs)) await finalizeIfComplete(context, jobId);
    if (isLast) return total;
  }
}

interface SettledLease {
  lease: LostLease;
  failed: number;
}

/**
 * If a counter is smaller than the contributions to take back, leases are settled one by one, and the failing ones
 * leave their contributions in place.
 */
async function settleRound(
  context: EngineContext,
  lostBy: LostBy,
): Promise<{ settled: SettledLease[]; isLast: boolean }> {
  const settle = (maxLeases: number, keepsCounted: boolean): Promise<SettledLease[]> =>
    retryPassing(() =>
      context.db.transaction(
        (tx) => settleLostLeases(tx, lostBy, maxLeases, keepsCounted),
        () => faultPoint('rescue.before_commit'),
      ),
    );
  for (const maxLeases of [LEASES_PER_ROUND, 1]) {
    try {
      const settled = await settle(maxLeases, false);
      return { settled, isLast: settled.length < maxLeases };
    } catch (error) {
      if (!(error instanceof CounterRangeError)) throw error;
    }
  }
  const settled = await settle(1, true);
  return { settled, isLast: settled.length === 0 };
}

async function settleLostLeases(
  tx: Transaction,
  lostBy: LostBy,
  maxLeases: number,
  keepsCounted: boolean,
): Promise<SettledLease[]> {
  const lost = await lockLostLeases(tx, maxLeases, lostBy);
  // Error groups are shared, so all rescues touch them in the same order.
  lost.sort((a, b) => (a.jobId === b.jobId ? a.phase - b.phase : a.jobId < b.jobId ? -1 : 1));
  const settled: SettledLease[] = [];
  const sawTheEnd = typeof lostBy === 'object' && 'deadWorkerId' in lostBy;
  for (const lease of lost) {
    const verdict = (sawTheEnd ? judgeCrash : judgeExpiry)(lease.items, lease.crashes);
    settled.push({ lease, failed: (await settleLease(tx, lease, verdict, keepsCounted)) ? 1 : 0 });
  }
  // Counters come last and in one statement, as in a flush.
  const ended = settled.flatMap(({ lease: { jobId, generation, phase, items }, failed }) =>
    failed > 0 && generation > 1 ? [...eachSeq(items)].map((seq) => ({ jobId, seq, generation, phase })) : [],
  );
  if (ended.length > 0 && !keepsCounted) await takeBackContributions(tx, ended).catch(explainRange);
  return settled;
}

/** Returns true if the items were failed for good. */
async function settleLease(
  tx: Transaction,
  lease: LostLease,
  verdict: CrashVerdict,
  keepsCounted: boolean,
): Promise<boolean> {
  if (verdict.kind === 'fail') {
    const message = crashMessage(verdict.crashes);
    await failItem(tx, lease, keepsCounted && lease.generation > 1 ? `${message}. ${STILL_COUNTS}` : message);
    return true;
  }
  const [first, ...others] = verdict.parts;
  await requeueSpan(tx, lease, {
    items: formatRanges(first!.items),
    itemCount: countSeqs(first!.items),
    crashes: first!.crashes,
  });
  await insertSpans(
    tx,
    lease.jobId,
    lease.generation,
    others.map((part) => ({
      phase: lease.phase,
      items: part.items,
      priority: lease.priority,
      delayMs: 0,
      attempt: lease.attempt,
      failures: lease.failures,
      crashes: part.crashes,
    })),
  );
  return false;
}

async function failItem(tx: Transaction, lease: LostLease, message: string): Promise<void> {
  const { jobId, generation, phase } = lease;
  const signature = errorSignature('crashed', message);
  const failed = new OutcomeLines(lease);
  for (const seq of eachSeq(lease.items))
    failed.result(seq, lease.attempt + 1, 'ERROR', null, { class: 'crashed', message }, null, signature);
  await deleteSpan(tx, jobId, lease.spanId);
  await failed.copy(tx);
  await upsertErrorGroups(tx, jobId, generation, phase, [
    {
      signature,
      errorClass: 'crashed',
      sample: message,
      sampleSeq: lease.items[0]![0],
      occurrences: 1,
      failed: countSeqs(lease.items),
    },
  ]);
  await insertLedgerEntry(
    tx,
    { jobId, entryId: newId(), generation, phase, workerId: lease.workerId },
    { ...emptyLedgerCounts(), error: countSeqs(lease.items) },
  );
}
