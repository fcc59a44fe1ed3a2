// One item in a slot. It is its own context: a hundred thousand of them a second should cost one object each, so what
// a handler may never ask for is made only when it does.
import type { Readable } from 'node:stream';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import type { Logger } from '../platform/logger.ts';
import type { ClaimedItem } from '../store/commands/claim-items.ts';
import type { ItemContext } from './item-context.ts';
import type { Lease } from './lease.ts';

/** What all items of a pool have in common. */
export interface ItemServices {
  log: Logger;
  blobs: Pick<BlobStore, 'get'>;
}

export class RunningItem implements ItemContext {
  readonly lease: Lease;
  readonly claimed: ClaimedItem;
  readonly startedMs: number;
  /** Has its outcome, or was given up: whatever the handler still does no longer counts. */
  ended = false;
  readonly #shared: ItemServices;
  #controller: AbortController | null = null;
  #abortReason: Error | null = null;

  constructor(lease: Lease, claimed: ClaimedItem, startedMs: number, shared: ItemServices) {
    this.lease = lease;
    this.claimed = claimed;
    this.startedMs = startedMs;
    this.#shared = shared;
  }

  get jobId(): string {
    return this.lease.claim.jobId;
  }

  get seq(): number {
    return this.claimed.seq;
  }

  get generation(): number {
    return this.lease.claim.generation;
  }

  get attempt(): number {
    return this.lease.claim.attempt + 1;
  }

  get previous(): unknown {
    return this.claimed.previous === null ? undefined : JSON.parse(this.claimed.previous);
  }

  get idempotencyKey(): string {
    const { jobId, generation, phase } = this.lease.claim;
    return `${jobId}:${this.seq}:${generation}:${phase}`;
  }

  get log(): Logger {
    return this.#shared.log.child({ jobId: this.jobId, seq: this.seq, attempt: this.attempt });
  }

  openFile(key: string): Promise<Readable> {
    return this.#shared.blobs.get(key);
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }
}
