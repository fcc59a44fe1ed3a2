// The estimated cost of calling the handler for one item, and the budget that pays for it.

import type { ErrorClass } from '../../core/items/outcome.ts';
import { isAmount } from '../../core/limits/budget.ts';
import { formatCost } from '../../core/limits/format-cost.ts';
import type { Phase } from '../../pipeline/pipeline.ts';
import type { JobBudgets } from './job-budgets.ts';
import type { Permit } from './permit.ts';

/** Plain data, because it is also sent to threads. */
export interface Charge {
  /** Null: the phase declares no cost. */
  estimate: number | null;
  /** Cost of the item's earlier calls. */
  spentBefore: number;
  /** Maximum total cost of the item; null: unlimited. */
  perItem: number | null;
  costUnit: string | null;
  /** Why the handler must not be called; null: it may be called. */
  refusal: { class: ErrorClass; message: string } | null;
}

export function plainCharge({ estimate, spentBefore, perItem, costUnit, refusal }: Charge): Charge {
  return { estimate, spentBefore, perItem, costUnit, refusal };
}

export class ItemCharge implements Charge, Permit {
  readonly estimate: number | null;
  readonly spentBefore: number;
  readonly perItem: number | null;
  readonly costUnit: string | null;
  readonly refusal: Charge['refusal'];
  /** Null: no budget limits it. */
  readonly budget: JobBudgets | null;

  constructor(charge: Charge, budget: JobBudgets | null) {
    this.estimate = charge.estimate;
    this.spentBefore = charge.spentBefore;
    this.perItem = charge.perItem;
    this.costUnit = charge.costUnit;
    this.refusal = charge.refusal;
    this.budget = budget;
  }

  /** True if the call must wait for its budget. A phase without a cost never waits, but its reported costs count. */
  get isGated(): boolean {
    return this.budget !== null && this.estimate !== null && this.refusal === null;
  }

  /** Amount reserved for the call. */
  get reserve(): number {
    return this.isGated ? this.estimate! : 0;
  }

  get limit(): JobBudgets {
    return this.budget!;
  }

  canStart(nowMs: number): boolean {
    return this.budget!.canStart(this.estimate!, nowMs);
  }

  startInMs(): null {
    return null;
  }

  /** Call only after `canStart` returned true. */
  start(): void {
    if (this.refusal === null) this.budget?.start(this.estimate ?? 0);
  }

  /** Call when the call has finished or was given up; null: no cost is known. */
  finish(cost: number | null): void {
    if (this.refusal === null) this.budget?.finish(this.estimate ?? 0, cost ?? 0);
  }
}

type Cost = Phase['cost'];

/** The phase's cost estimate for an item, or the reason why it is invalid. */
export function estimateOf(
  cost: Cost,
  input: () => unknown,
): { estimate: number | null; wrong: string | null } {
  if (cost === undefined) return { estimate: null, wrong: null };
  if (typeof cost === 'number') return { estimate: cost, wrong: null };
  try {
    const estimate: unknown = cost(input());
    if (isAmount(estimate)) return { estimate, wrong: null };
    return {
      estimate: null,
      wrong: `expected cost to return a number from 0, got ${describeAmount(estimate)}`,
    };
  } catch (error) {
    return {
      estimate: null,
      wrong: `cost could not be estimated: ${(error as Error)?.message ?? String(error)}`,
    };
  }
}

/** The error if another call would exceed the item's budget; null if it would not. */
export function overItemBudget(
  { perItem, estimate, costUnit }: Pick<Charge, 'estimate' | 'perItem' | 'costUnit'>,
  spent: number,
): string | null {
  if (perItem === null) return null;
  const next = estimate ?? 0;
  const rounding = 1e-9 * Math.max(perItem, 1e-3);
  if (next > 0 ? spent + next <= perItem + rounding : spent < perItem - rounding || spent === 0) return null;
  const amount = (value: number): string => formatCost(value, costUnit);
  return `budget of ${amount(perItem)} per row reached: ${amount(spent)} spent, the next call is estimated at ${amount(next)}`;
}

export function describeAmount(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
}
