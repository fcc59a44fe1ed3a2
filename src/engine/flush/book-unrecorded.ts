// What was paid for calls whose outcome nobody will see, because their lease was lost or they were given up: it is booked
// apart from the cost of what counts.
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
    // One whose reply was lost finds itself.
    if (await ledgerHasEntry(db, jobId, entryId)) return;
    const counts = { ...emptyLedgerCounts(), fencedCost: cost };
    await insertLedgerEntry(db, { jobId, entryId, generation, phase, workerId }, counts);
  });
}
