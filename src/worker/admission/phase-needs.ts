// Determines what an item of one phase needs before it may start: permits of the phase's resources (by key, if the
// phase defines keys), a permit of its owner's limit of items in flight, and a budget for its call.

import type { Phase } from '../../pipeline/pipeline.ts';
import { strategyOf } from '../../core/errors/failure-counts.ts';
import { OWNER_RESOURCE, type ResourceLimits } from '../../core/limits/resource-limits.ts';

import {
  type ResourceCall,
  type ResourceUse,
  resourceKey,
  usedResource,
} from '../../pipeline/phase-resources.ts';
import type { Lease } from '../leases/lease.ts';
import type { AdmittedItem } from './admission.ts';
import type { BudgetLimiter } from './budget-limiter.ts';
import { estimateOf, ItemCharge, overItemBudget } from './item-charge.ts';
import type { KeyPermits } from './key-permits.ts';
import type { ResourceLimiter } from './resource-limiter.ts';

/** Key shared by items whose key function threw: they fail as soon as they are called. */
const NO_KEY = '@none';

export interface ItemNeeds {
  /** True if all items need the same permits: if one has to wait, all have to. */
  readonly isUniform: boolean;
  /** Changes whenever permits may have become available. */
  version(): number;
  /** True if items of this lease need no permit and no budget. */
  isFree(lease: Lease): boolean;
  /** Sets the permits and the charge that the item needs. */
  fill(item: AdmittedItem): void;
  /** Looks up its permits again, because unused keys may have been forgotten. */
  refresh(item: AdmittedItem): void;
}

export class PhaseNeeds implements ItemNeeds {
  readonly isUniform: boolean;
  readonly #resources: Pick<ResourceLimiter, 'version' | 'permits'>;
  readonly #budgets: Pick<BudgetLimiter, 'version' | 'budgetOf'>;
  readonly #uses: readonly ResourceUse[];
  readonly #strategies: readonly string[];
  readonly #hasKeys: boolean;
  readonly #cost: Phase<unknown, unknown, unknown>['cost'];

  constructor(
    resources: Pick<ResourceLimiter, 'version' | 'permits'>,
    budgets: Pick<BudgetLimiter, 'version' | 'budgetOf'>,
    phase: Phase<unknown, unknown, unknown>,
    strategies: readonly string[],
  ) {
    this.#strategies = strategies;
    this.#resources = resources;
    this.#budgets = budgets;
    this.#cost = phase.cost;
    this.#uses = (phase.resources ?? []).map(usedResource);
    this.#hasKeys = this.#uses.some((use) => use.keyOf !== null);
    // With a cost, needs differ by job, because jobs have separate budgets.
    this.isUniform = !this.#hasKeys && phase.cost === undefined;
  }

  version(): number {
    return this.#resources.version + this.#budgets.version;
  }

  isFree({ claim }: Lease): boolean {
    const isFreeOfLimits = this.#uses.length === 0 && claim.owner.maxInFlight === null;
    return isFreeOfLimits && this.#cost === undefined && claim.budget === null;
  }

  fill(item: AdmittedItem): void {
    this.refresh(item);
    item.charge = this.#chargeOf(item);
  }

  refresh(item: AdmittedItem): void {
    const { failures, owner } = item.lease.claim;
    const { ownerId, maxInFlight } = owner;
    if (this.#uses.length === 0 && maxInFlight === null) return;
    const input = this.#hasKeys ? inputOf(item) : null;
    const call = { strategy: strategyOf(this.#strategies, failures) };
    const permits: KeyPermits[] = [];
    // First in the list, so that an item of an owner at its limit waits for that limit.
    if (maxInFlight !== null)
      permits.push(this.#resources.permits(OWNER_RESOURCE, ownerId, ownerId, ownerLimits(maxInFlight)));
    for (const { name, keyOf } of this.#uses) {
      const key = keyOf === null ? '' : keyFor(keyOf, input, call);
      if (key !== null) permits.push(this.#resources.permits(name, key, ownerId));
    }
    item.permits = permits.length === 0 ? null : permits;
  }

  #chargeOf(item: AdmittedItem): ItemCharge | null {
    const { claim } = item.lease;
    const { budget } = claim;
    if (this.#cost === undefined && budget === null) return null;
    const { estimate, wrong } = estimateOf(this.#cost, () => inputOf(item));
    const spentBefore = claim.itemCosts?.get(item.claimed.seq) ?? 0;
    const { perItem, costUnit } = budget ?? { perItem: null, costUnit: null };
    const over =
      wrong === null && estimate !== null
        ? overItemBudget({ estimate, perItem, costUnit }, spentBefore)
        : null;
    const refusal =
      wrong !== null
        ? { class: 'invalid' as const, message: wrong }
        : over === null
          ? null
          : { class: 'permanent' as const, message: over };
    return new ItemCharge(
      { estimate, spentBefore, perItem, costUnit, refusal },
      this.#budgets.budgetOf(claim),
    );
  }
}

/** Parses the input once. Resource keys, cost and handler share the value. */
function inputOf(item: AdmittedItem): unknown {
  item.parsed ??= JSON.parse(item.claimed.input);
  return item.parsed;
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
