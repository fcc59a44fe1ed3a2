// Rows that handlers emitted, stored by the flush of the outcome that emitted them.
import { NO_FAILURES } from '../../core/errors/failure-counts.ts';
import type { Transaction } from '../../platform/database.ts';
import type { Settings } from '../../platform/settings.ts';
import {
  insertChildren,
  lockJobForChildren,
  type NewChild,
} from '../../store/commands/items/insert-children.ts';
import type { NewSpan } from '../../store/commands/spans/insert-spans.ts';
import type { FlushBatch } from './flush-outcomes.ts';

export interface EmittedChild {
  key: string;
  json: string;
  /** Keys of the input. */
  columns: readonly string[];
  summary: string;
  priority: number;
  /** Index of the phase it starts at. */
  phase: number;
}

/** The number of items of the job, whose row is locked now; null if the batch emits nothing. */
export async function lockForChildren(tx: Transaction, batch: FlushBatch): Promise<number | null> {
  const emits = batch.leases.some(({ outcomes }) => outcomes.some(({ children }) => children !== undefined));
  return emits ? lockJobForChildren(tx, batch.jobId) : null;
}

/** Emitted items start at the first phase of their kind. */
export async function storeChildren(
  tx: Transaction,
  jobId: string,
  itemCount: number,
  children: NewChild[],
  { emitMaxDepth: maxDepth, emitMaxItems: maxItems }: Settings,
): Promise<NewSpan[]> {
  const { ranges } = await insertChildren(tx, jobId, itemCount, children, { maxDepth, maxItems });
  const fresh = { delayMs: 0, attempt: 0, failures: NO_FAILURES, crashes: 0 };
  return ranges.map(({ priority, phase, from, to }) => ({ ...fresh, phase, priority, items: [[from, to]] }));
}
