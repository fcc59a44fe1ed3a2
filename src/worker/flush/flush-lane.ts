// The outcomes of one job, generation and phase that wait to be written, and why they should be written now.
import type { Lease } from '../leases/lease.ts';

export type FlushTrigger = 'size' | 'bytes' | 'time' | 'idle' | 'drain';

export class FlushLane {
  readonly key: string;
  readonly jobId: string;
  readonly leases = new Set<Lease>();
  pendingCount = 0;
  pendingBytes = 0;
  timer: NodeJS.Timeout | null = null;
  due: FlushTrigger | null = null;

  constructor(key: string, jobId: string) {
    this.key = key;
    this.jobId = jobId;
  }

  /** Items that are running or waiting for a slot. */
  get hasOpenItems(): boolean {
    for (const lease of this.leases) if (lease.openCount > 0) return true;
    return false;
  }
}
