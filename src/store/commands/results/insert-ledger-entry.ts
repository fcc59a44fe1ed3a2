import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const COLUMNS = [
  ['job_id', 'uuid'],
  ['entry_id', 'uuid'],
  ['generation', 'int'],
  ['phase', 'smallint'],
  ['worker_id', 'uuid'],
  ...['done', 'error', 'not_found', 'skipped', 'cancelled', 'advanced', 'retried', 'fenced', 'bytes'].map(
    (name) => [name, 'bigint'] as const,
  ),
  ...['handler_ms', 'cost', 'fenced_cost'].map((name) => [name, 'float8'] as const),
] as const;

/** Parts of a statement that adds an entry; its values are parameters from `first` on. */
export const INSERT_LEDGER = {
  columns: `insert into ledger (${COLUMNS.map(([name]) => name).join(', ')})`,
  values: (first: number): string => COLUMNS.map(([, type], at) => `$${first + at}::${type}`).join(', '),
};

/** Number of values of an entry. */
export const LEDGER_VALUES = COLUMNS.length;

const INSERT_LEDGER_ENTRY: Statement = {
  name: 'insert-ledger-entry',
  text: `${INSERT_LEDGER.columns} values (${INSERT_LEDGER.values(1)})`,
};

export interface LedgerEntry {
  jobId: string;
  entryId: string;
  generation: number;
  phase: number;
  workerId: string | null;
}

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

/** Statuses that occur, with their counts. */
export function endedByStatus(counts: LedgerCounts): Partial<Record<ItemStatus, number>> {
  const ended: Partial<Record<ItemStatus, number>> = {};
  if (counts.done > 0) ended.DONE = counts.done;
  if (counts.error > 0) ended.ERROR = counts.error;
  if (counts.notFound > 0) ended.NOT_FOUND = counts.notFound;
  if (counts.skipped > 0) ended.SKIPPED = counts.skipped;
  if (counts.cancelled > 0) ended.CANCELLED = counts.cancelled;
  return ended;
}

export async function insertLedgerEntry(
  db: Executor,
  entry: LedgerEntry,
  counts: LedgerCounts,
): Promise<void> {
  await db.run(INSERT_LEDGER_ENTRY, ledgerValues(entry, counts));
}

/** The values of `INSERT_LEDGER`. */
export function ledgerValues(entry: LedgerEntry, counts: LedgerCounts): unknown[] {
  return [
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
  ];
}
