// The outcomes of one job, generation and phase that wait to be written together, and why they should be written now.
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { FlushBatch, LeaseOutcomes, RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { newId } from '../../platform/random.ts';
import type { Lease } from '../leases/lease.ts';

export type FlushTrigger = 'size' | 'bytes' | 'time' | 'idle' | 'drain';

/** A flush under way: its leases, and the outcomes of each in the same order. */
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

  /** Items that are running or waiting for a slot. */
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

  /** Up to so many outcomes, of the leases that have no flush under way; null: there are none. */
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
