// Records the cost of calls whose outcome is dropped because the lease was lost or the items were given up. This
// cost is kept separate from the cost of recorded outcomes.
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { emptyLedgerCounts, insertLedgerEntry } from '../../store/commands/results/insert-ledger-entry.ts';
import { ledgerHasEntry } from '../../store/views/results/find-ledger-entry.ts';
import type { EngineContext } from '../engine-context.ts';

export async function bookUnrecorded(
  { db }: EngineContext,
  { jobId, generation, phase }: { jobId: string; generation: number; phase: number },
  workerId: string,
  cost: number,
): Promise<void> {
  const entryId = newId();
  await retryPassing(async () => {
    // After a lost reply, the retry finds the entry of the first try.
    if (await ledgerHasEntry(db, jobId, entryId)) return;
    const counts = { ...emptyLedgerCounts(), fencedCost: cost };
    await insertLedgerEntry(db, { jobId, entryId, generation, phase, workerId }, counts);
  });
}
