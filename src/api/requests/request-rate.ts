// Limits the requests of a caller with a token bucket, in the memory of this process. Full buckets are dropped; with
// too many callers, those that were quiet longest are dropped first.
import { addressGroup } from '../../core/accounts/address-group.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Actor } from './actor.ts';
import { RetryLaterError } from './answer-error.ts';

const MAX_CALLERS = 20_000;

export interface RateLimits {
  /** Requests per second, on average. */
  perSecond: number;
  /** Requests allowed at once. */
  burst: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

export class RequestRate {
  readonly #limits: RateLimits;
  readonly #nowMs: () => number;
  /** The caller that was quiet longest comes first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(limits: RateLimits, nowMs: () => number = monotonicMs) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  get callers(): number {
    return this.#buckets.size;
  }

  /** Throws if the caller has to wait. */
  take(caller: string): void {
    const { perSecond, burst } = this.#limits;
    const nowMs = this.#nowMs();
    const bucket = this.#buckets.get(caller) ?? { tokens: burst, atMs: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * perSecond);
    bucket.atMs = nowMs;
    this.#buckets.delete(caller);
    this.#buckets.set(caller, bucket);
    this.#forget(nowMs);
    if (bucket.tokens < 1)
      throw new RetryLaterError(
        'RATE_LIMITED',
        `expected at most ${perSecond} requests per second (apiRequestsPerSecond), ${burst} at once (apiRequestBurst)`,
        ((1 - bucket.tokens) / perSecond) * 1000,
      );
    bucket.tokens -= 1;
  }

  #forget(nowMs: number): void {
    const { perSecond, burst } = this.#limits;
    for (const [caller, { tokens, atMs }] of this.#buckets) {
      const isFull = tokens + ((nowMs - atMs) / 1000) * perSecond >= burst;
      if (!isFull && this.#buckets.size <= MAX_CALLERS) return;
      if (atMs === nowMs) return;
      this.#buckets.delete(caller);
    }
  }
}

/** Keys count separately from their user, and users separately from others at the same address. */
export function callerOf(actor: Actor | null, address: string): string {
  if (actor === null || actor.via === 'none') return `address ${addressGroup(address)}`;
  return actor.via === 'key' ? `key ${actor.keyId}` : `user ${actor.userId}`;
}
