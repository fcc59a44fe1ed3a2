// What an item of one phase needs before it may start: permits of the resources that the phase names, by key where it
// gives one, and a place among the items that its owner may have under way.
import { OWNER_RESOURCE, type ResourceLimits } from '../core/resource-limits.ts';
import type { RecordedOutcome } from '../engine/flush-outcomes.ts';
import type { ClaimedItem } from '../store/commands/claim-items.ts';
import type { Phase } from './define-pipeline.ts';
import type { ItemGate } from './item-queue.ts';
import type { Heard, KeyPermits } from './key-permits.ts';
import type { Lease } from './lease.ts';
import { resourceKey, type ResourceUse, usedResource } from './phase-resources.ts';
import type { ResourceDesk } from './resource-desk.ts';

/** Items for which a key could not be made: they fail as soon as they are called, so they share one. */
const NO_KEY = '@none';

export class PhaseGate implements ItemGate {
  readonly isUniform: boolean;
  readonly #desk: ResourceDesk;
  readonly #uses: readonly ResourceUse[];

  constructor(desk: ResourceDesk, phase: Phase<unknown, unknown, unknown>) {
    this.#desk = desk;
    this.#uses = (phase.resources ?? []).map(usedResource);
    this.isUniform = this.#uses.every((use) => use.keyOf === null);
  }

  version(): number {
    return this.#desk.version;
  }

  permitsOf(lease: Lease, claimed: ClaimedItem): readonly KeyPermits[] | null {
    const { ownerId, maxInFlight } = lease.claim.owner;
    if (this.#uses.length === 0 && maxInFlight === null) return null;
    const input: unknown = this.isUniform ? null : JSON.parse(claimed.input);
    const permits = this.#uses.map(({ name, keyOf }) =>
      this.#desk.permits(name, keyOf === null ? '' : keyFor(keyOf, input)),
    );
    if (maxInFlight === null) return permits;
    // First: an item whose owner has enough under way waits for that, whatever else it needs.
    return [this.#desk.permits(OWNER_RESOURCE, ownerId, ownerLimits(maxInFlight)), ...permits];
  }
}

function ownerLimits(maxInFlight: number): ResourceLimits {
  return { ratePerSecond: null, concurrency: maxInFlight, minDelayMs: 0, adaptive: false };
}

function keyFor(keyOf: (input: never) => string, input: unknown): string {
  try {
    return resourceKey(keyOf(input as never));
  } catch {
    return NO_KEY;
  }
}

/** What an outcome says about the service that was called. */
export function heardFrom({ failure, handlerMs }: RecordedOutcome): Heard {
  if (failure !== null && failure.asked !== true) {
    if (failure.class === 'throttled')
      return { kind: 'throttled', ms: handlerMs, retryAfterMs: failure.retryAfterMs };
    if (failure.class === 'overloaded' || failure.class === 'timeout' || failure.class === 'crashed')
      return { kind: 'failed', ms: handlerMs, retryAfterMs: failure.retryAfterMs };
  }
  return { kind: 'ok', ms: handlerMs, retryAfterMs: null };
}
