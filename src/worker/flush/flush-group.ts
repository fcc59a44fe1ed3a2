// Outcomes of one job, generation and phase that are written together, and the trigger of their next flush.
import { formatRanges, rangesOf } from '../../core/items/seq-ranges.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { FlushBatch, LeaseOutcomes } from '../../engine/flush/flush-outcomes.ts';
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

/** Outcomes of one lease that were not written. */
export interface Unpersisted {
  jobId: string;
  seqs: string;
  items: number;
}

export class FlushGroup {
  readonly key: string;
  readonly jobId: string;
  readonly leases = new Set<Lease>();
  /** Items that are running or queued. */
  openCount = 0;
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

  add(lease: Lease): void {
    lease.flushGroup = this;
    this.leases.add(lease);
    this.openCount += lease.openCount;
  }

  addPending(items: number, bytes: number): void {
    this.pendingCount += items;
    this.pendingBytes += bytes;
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
      const taken = lease.takePending(maxItems - items);
      const { outcomes } = taken;
      const { spanId, token, attempt, failures, priority } = lease.claim;
      leases.push(lease);
      parts.push({ spanId, token, attempt, failures, priority, outcomes, hasCosts: lease.hasCosts });
      items += outcomes.length;
      bytes += taken.bytes;
    }
    if (leases.length === 0) return null;
    this.addPending(-items, -bytes);
    const { jobId, generation, phase } = leases[0]!.claim;
    const batch = { jobId, generation, phase, workerId, flushId: newId(), leases: parts };
    return { leases, batch, items, bytes };
  }

  unpersisted(): Unpersisted[] {
    return [...this.leases]
      .filter(({ pending }) => pending.length > 0)
      .map(({ pending }) => {
        const seqs = formatRanges(rangesOf(pending.map(({ seq }) => seq)));
        return { jobId: this.jobId, seqs, items: pending.length };
      });
  }
}
