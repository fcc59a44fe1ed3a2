// Outcomes of one job, generation and phase that are written together, and the trigger of their next flush.
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { FlushBatch, LeaseOutcomes, RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { newId } from '../../platform/random.ts';
import type { Lease } from '../leases/lease.ts';

export type FlushTrigger = 'size' | 'bytes' | 'time' | 'idle' | 'drain';

/** A flush in progress. `batch.leases` holds the outcomes of each lease, in the order of `leases`. */
export interface TakenBatch {
  leases: Lease[];
  batch: FlushBatch;
  items: number;
  bytes: number;
}

export class FlushGroup {
  readonly key: string;
  readonly jobId: string;
  readonly leases = new Set<Lease>();
  pendingCount = 0;
  pendingBytes = 0;
  timer: NodeJS.Timeout | null = null;
  due: FlushTrigger | null = null;

  constructor(jobId: string, key: string) {
    this.key = key;
    this.jobId = jobId;
  }

  static keyOf({ jobId, generation, phase }: Claim): string {
    return `${jobId} ${generation} ${phase}`;
  }

  /** True if items are running or queued. */
  get hasOpenItems(): boolean {
    for (const lease of this.leases) if (lease.openCount > 0) return true;
    return false;
  }

  add(outcome: RecordedOutcome): void {
    this.pendingCount += 1;
    this.pendingBytes += outcome.bytes!;
  }

  remove(items: number, bytes: number): void {
    this.pendingCount -= items;
    this.pendingBytes -= bytes;
  }

  /** Takes up to `maxItems` outcomes from leases without a flush in progress; null if there are none. */
  takeBatch(workerId: string, maxItems: number): TakenBatch | null {
    const leases: Lease[] = [];
    const parts: LeaseOutcomes[] = [];
    let items = 0;
    let bytes = 0;
    for (const lease of this.leases) {
      if (items >= maxItems) break;
      if (!lease.canFlush) continue;
      const outcomes = lease.takePending(maxItems - items);
      const { spanId, token, attempt, failures, priority } = lease.claim;
      leases.push(lease);
      parts.push({ spanId, token, attempt, failures, priority, outcomes });
      items += outcomes.length;
      bytes += sumBytes(outcomes);
    }
    if (leases.length === 0) return null;
    this.remove(items, bytes);
    const { jobId, generation, phase } = leases[0]!.claim;
    const batch = { jobId, generation, phase, workerId, flushId: newId(), leases: parts };
    return { leases, batch, items, bytes };
  }
}

export function sumBytes(outcomes: readonly RecordedOutcome[]): number {
  let bytes = 0;
  for (const outcome of outcomes) bytes += outcome.bytes!;
  return bytes;
}
