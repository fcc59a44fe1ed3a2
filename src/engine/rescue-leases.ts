// Takes back the leases of workers that are gone. Safe to run everywhere at once: rows are skipped when
// somebody else holds them, and taking a lease back destroys its token, which fences the old holder.
import { crashMessage, judgeCrash } from '../core/crash-policy.ts';
import { errorSignature } from '../core/error-signature.ts';
import { countSeqs, eachSeq, formatRanges } from '../core/seq-ranges.ts';
import type { Transaction } from '../platform/database.ts';
import { faultPoint } from '../platform/fault-point.ts';
import { newId } from '../platform/random.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { copyResults } from '../store/commands/copy-rows.ts';
import { emptyLedgerCounts, insertLedgerEntry } from '../store/commands/insert-ledger-entry.ts';
import { insertSpans } from '../store/commands/insert-spans.ts';
import {
  deleteSpan,
  type LostLease,
  lockLostLeases,
  requeueSpan,
} from '../store/commands/lock-lost-leases.ts';
import { upsertErrorGroups } from '../store/commands/upsert-error-groups.ts';
import type { EngineContext } from './engine-context.ts';
import { finishJob } from './finish-job.ts';

const LEASES_PER_ROUND = 100;

export interface RescueReport {
  leases: number;
  failedItems: number;
}

/** Expired leases, or all leases of a worker known to be dead. */
export async function rescueLeases(
  context: EngineContext,
  deadWorkerId: string | null = null,
): Promise<RescueReport> {
  const total: RescueReport = { leases: 0, failedItems: 0 };
  for (;;) {
    const settled = await retryPassing(() =>
      context.db.transaction(
        (tx) => settleLostLeases(tx, deadWorkerId),
        () => faultPoint('rescue.before_commit'),
      ),
    );
    for (const { lease, failed } of settled) {
      total.leases += 1;
      total.failedItems += failed;
      context.events.emit('lease.rescued', { jobId: lease.jobId, items: countSeqs(lease.items), failed });
    }
    const failedJobs = settled.filter(({ failed }) => failed > 0).map(({ lease }) => lease.jobId);
    for (const jobId of new Set(failedJobs)) await finishJob(context, jobId);
    if (settled.length < LEASES_PER_ROUND) return total;
  }
}

async function settleLostLeases(
  tx: Transaction,
  deadWorkerId: string | null,
): Promise<{ lease: LostLease; failed: number }[]> {
  const lost = await lockLostLeases(tx, LEASES_PER_ROUND, deadWorkerId);
  // Error groups are shared: two rescues touch them in the same order.
  lost.sort((a, b) => (a.jobId === b.jobId ? a.phase - b.phase : a.jobId < b.jobId ? -1 : 1));
  const settled: { lease: LostLease; failed: number }[] = [];
  for (const lease of lost) settled.push({ lease, failed: (await settleLease(tx, lease)) ? 1 : 0 });
  return settled;
}

/** True when the item was failed for good. */
async function settleLease(tx: Transaction, lease: LostLease): Promise<boolean> {
  const verdict = judgeCrash(lease.items, lease.crashes);
  if (verdict.kind === 'fail') {
    await failItem(tx, lease, verdict.crashes);
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

async function failItem(tx: Transaction, lease: LostLease, crashes: number): Promise<void> {
  const { jobId, generation, phase } = lease;
  const message = crashMessage(crashes);
  const signature = errorSignature('crashed', message);
  let lines = '';
  for (const seq of eachSeq(lease.items)) {
    lines += `${jobId}\t${seq}\t${generation}\t${phase}\t${lease.attempt + 1}\tERROR\t\\N\tcrashed\t${message}\t\\N\t${signature}\n`;
  }
  await deleteSpan(tx, jobId, lease.spanId);
  await copyResults(tx, lines);
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
    { jobId, entryId: newId(), generation, phase, workerId: lease.owner },
    { ...emptyLedgerCounts(), error: countSeqs(lease.items) },
  );
}
