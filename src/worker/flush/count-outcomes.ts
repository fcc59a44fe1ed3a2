// Counts for the events of a flush: outcomes by kind and status, retries by error class, and estimated bytes.
import type { ErrorClass, ItemStatus } from '../../core/items/outcome.ts';
import type { FlushBatch, FlushReport, RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import type { RowmillEvents } from '../../platform/events.ts';

/** Estimated size of one counter contribution. */
const COUNTED_BYTES = 100;

export type FlushCounts = Pick<FlushReport, 'recorded' | 'retried' | 'advanced' | 'ended'>;

/** Adds the counts of one report to those of the whole batch. */
export function addCounts(counts: FlushCounts, report: FlushCounts): void {
  counts.recorded += report.recorded;
  counts.retried += report.retried;
  counts.advanced += report.advanced;
  for (const [status, count] of Object.entries(report.ended) as [ItemStatus, number][])
    counts.ended[status] = (counts.ended[status] ?? 0) + count;
}

/** Items that will be retried, by error class. */
export function countRetries({ jobId, phase, leases }: FlushBatch): RowmillEvents['items.retrying'][] {
  const byClass = new Map<ErrorClass, RowmillEvents['items.retrying']>();
  for (const lease of leases) {
    for (const { kind, failure, delayMs } of lease.outcomes) {
      if (kind !== 'retry' || failure === null) continue;
      const errorClass = failure.class;
      const attempt = lease.attempt + 1;
      const known = byClass.get(errorClass);
      byClass.set(errorClass, {
        jobId,
        phase,
        errorClass,
        items: (known?.items ?? 0) + 1,
        attempt: Math.max(known?.attempt ?? 0, attempt),
        minDelayMs: Math.min(known?.minDelayMs ?? delayMs, delayMs),
        maxDelayMs: Math.max(known?.maxDelayMs ?? delayMs, delayMs),
      });
    }
  }
  return [...byClass.values()];
}

/** Estimated size in memory and on the wire. */
export function outcomeBytes(outcome: RecordedOutcome): number {
  const children = outcome.children?.reduce((sum, child) => sum + child.json.length + 100, 0) ?? 0;
  const counted = (outcome.counted?.length ?? 0) * COUNTED_BYTES;
  const { trace } = outcome;
  const traced = trace
    ? 100 + (trace.log?.length ?? 0) + (trace.thrown?.length ?? 0) + (trace.fetches?.length ?? 0)
    : 0;
  return (
    100 + traced + children + counted + (outcome.json?.length ?? 0) + (outcome.failure?.message.length ?? 0)
  );
}

/** For outcomes that have been recorded, so that their bytes are set. */
export function sumBytes(outcomes: readonly RecordedOutcome[]): number {
  let bytes = 0;
  for (const outcome of outcomes) bytes += outcome.bytes!;
  return bytes;
}
