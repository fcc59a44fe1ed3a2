// What an item of one phase needs before it may start: permits of the resources that the phase names, by key where it
// gives one, and a place among the items that its owner may have under way.

import { strategyOf } from '../../core/errors/failure-counts.ts';
import { OWNER_RESOURCE, type ResourceLimits } from '../../core/limits/resource-limits.ts';
import type { ClaimedItem } from '../../engine/claims/claim-work.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import type { Phase } from '../../pipeline/pipeline.ts';
import {
  type ResourceCall,
  type ResourceUse,
  resourceKey,
  usedResource,
} from '../../pipeline/phase-resources.ts';
import type { Lease } from '../leases/lease.ts';
import type { BudgetDesk } from './budget-desk.ts';
import { estimateOf, ItemCharge, overItemBudget } from './item-charge.ts';
import type { ItemGate } from './item-queue.ts';
import type { Heard, KeyPermits } from './key-permits.ts';
import type { ResourceDesk } from './resource-desk.ts';

/** Items for which a key could not be made: they fail as soon as they are called, so they share one. */
const NO_KEY = '@none';

export class PhaseGate implements ItemGate {
  readonly isUniform: boolean;
  readonly #desk: ResourceDesk;
  readonly #budgets: BudgetDesk;
  readonly #uses: readonly ResourceUse[];
  readonly #strategies: readonly string[];
  readonly #needsInput: boolean;
  readonly #cost: Phase['cost'];

  constructor(desk: ResourceDesk, budgets: BudgetDesk, phase: Phase, strategies: readonly string[]) {
    this.#strategies = strategies;
    this.#desk = desk;
    this.#budgets = budgets;
    this.#cost = phase.cost;
    this.#uses = (phase.resources ?? []).map(usedResource);
    this.#needsInput = this.#uses.some((use) => use.keyOf !== null);
    // Jobs have budgets of their own.
    this.isUniform = !this.#needsInput && phase.cost === undefined;
  }

  version(): number {
    return this.#desk.version + this.#budgets.version;
  }

  permitsOf(lease: Lease, claimed: ClaimedItem): readonly KeyPermits[] | null {
    const { ownerId, maxInFlight } = lease.claim.owner;
    if (this.#uses.length === 0 && maxInFlight === null) return null;
    const input: unknown = this.#needsInput ? JSON.parse(claimed.input) : null;
    const call = { strategy: strategyOf(this.#strategies, lease.claim.failures) };
    const permits: KeyPermits[] = [];
    for (const { name, keyOf } of this.#uses) {
      const key = keyOf === null ? '' : keyFor(keyOf, input, call);
      if (key !== null) permits.push(this.#desk.permits(name, key, ownerId));
    }
    if (maxInFlight === null) return permits.length === 0 ? null : permits;
    // First: an item whose owner has enough under way waits for that, whatever else it needs.
    return [this.#desk.permits(OWNER_RESOURCE, ownerId, ownerId, ownerLimits(maxInFlight)), ...permits];
  }

  chargeOf({ claim }: Lease, claimed: ClaimedItem): ItemCharge | null {
    const { budget } = claim;
    if (this.#cost === undefined && budget === null) return null;
    const { estimate, wrong } = estimateOf(this.#cost, () => JSON.parse(claimed.input));
    const spentBefore = claim.itemCosts?.get(claimed.seq) ?? 0;
    const perItem = budget?.perItem ?? null;
    const over =
      wrong === null && estimate !== null ? overItemBudget({ estimate, perItem }, spentBefore) : null;
    const refusal =
      wrong !== null
        ? { class: 'invalid' as const, message: wrong }
        : over === null
          ? null
          : { class: 'permanent' as const, message: over };
    return new ItemCharge({ estimate, spentBefore, perItem, refusal }, this.#budgets.lineOf(claim));
  }
}

function ownerLimits(maxInFlight: number): ResourceLimits {
  return { ratePerSecond: null, concurrency: maxInFlight, minDelayMs: 0, adaptive: false };
}

function keyFor(keyOf: NonNullable<ResourceUse['keyOf']>, input: unknown, call: ResourceCall): string | null {
  try {
    const key = keyOf(input as never, call);
    return key === null ? null : resourceKey(key);
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
