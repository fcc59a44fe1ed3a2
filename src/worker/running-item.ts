// One item in a slot. It is its own context: a hundred thousand of them a second should cost one object each, so what
// a handler may never ask for is made only when it does.
import { failuresOf } from '../core/failure-counts.ts';
import { RowmillError } from '../core/rowmill-error.ts';
import type { EmittedChild } from '../engine/flush-outcomes.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import type { Logger } from '../platform/logger.ts';
import type { ClaimedItem } from '../store/commands/claim-items.ts';
import type { ItemContext } from './item-context.ts';
import { emittedChild } from './emitted-child.ts';
import type { KeyPermits } from './key-permits.ts';
import type { Lease } from './lease.ts';

/** What all items of a pool have in common. */
export interface ItemServices {
  runtime: { pipeline: { strategies: readonly string[] }; limits: { emitMaxPerItem: number } };
  log: Logger;
  blobs: Pick<BlobStore, 'get'>;
}

export class RunningItem implements ItemContext {
  readonly lease: Lease;
  readonly claimed: ClaimedItem;
  readonly startedMs: number;
  /** Has its outcome, or was given up: whatever the handler still does no longer counts. */
  ended = false;
  /** What it holds of resources while it runs. */
  permits: readonly KeyPermits[] | null = null;
  /** What the handler emitted so far. */
  emitted: EmittedChild[] | null = null;
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

  get strategy(): string | undefined {
    const { strategies } = this.#shared.runtime.pipeline;
    return strategies[failuresOf(this.lease.claim.failures, 'not_found') % strategies.length];
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

  // Functions and not methods: handlers take the context apart.
  get emit(): ItemContext['emit'] {
    return (key, input, options = {}) => {
      const { emitMaxPerItem } = this.#shared.runtime.limits;
      this.emitted ??= [];
      if (this.emitted.length >= emitMaxPerItem) {
        throw new RowmillError(
          'ITEM_INVALID',
          `expected one call to emit at most ${emitMaxPerItem} items (emitMaxPerItem)`,
        );
      }
      this.emitted.push(emittedChild(key, input, options.priority ?? this.lease.claim.priority));
    };
  }

  get openFile(): ItemContext['openFile'] {
    return (key) => this.#shared.blobs.get(key);
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
