import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const INSERT_LEDGER_ENTRY: Statement = {
  name: 'insert-ledger-entry',
  text: `
    insert into ledger (job_id, entry_id, generation, phase, worker_id, done, error, not_found, skipped, cancelled,
                        advanced, retried, fenced, bytes, handler_ms, cost, fenced_cost)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
};

export interface LedgerCounts {
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  cancelled: number;
  advanced: number;
  retried: number;
  fenced: number;
  bytes: number;
  handlerMs: number;
  /** Cost of recorded outcomes. */
  cost: number;
  /** Cost of calls whose outcome was dropped. */
  fencedCost: number;
}

export function emptyLedgerCounts(): LedgerCounts {
  return {
    done: 0,
    error: 0,
    notFound: 0,
    skipped: 0,
    cancelled: 0,
    advanced: 0,
    retried: 0,
    fenced: 0,
    bytes: 0,
    handlerMs: 0,
    cost: 0,
    fencedCost: 0,
  };
}

export function countStatus(counts: LedgerCounts, status: ItemStatus): void {
  if (status === 'DONE') counts.done += 1;
  else if (status === 'ERROR') counts.error += 1;
  else if (status === 'NOT_FOUND') counts.notFound += 1;
  else if (status === 'SKIPPED') counts.skipped += 1;
  else counts.cancelled += 1;
}

export async function insertLedgerEntry(
  db: Executor,
  entry: { jobId: string; entryId: string; generation: number; phase: number; workerId: string | null },
  counts: LedgerCounts,
): Promise<void> {
  await db.run(INSERT_LEDGER_ENTRY, [
    entry.jobId,
    entry.entryId,
    entry.generation,
    entry.phase,
    entry.workerId,
    counts.done,
    counts.error,
    counts.notFound,
    counts.skipped,
    counts.cancelled,
    counts.advanced,
    counts.retried,
    counts.fenced,
    counts.bytes,
    counts.handlerMs,
    counts.cost,
    counts.fencedCost,
  ]);
}
