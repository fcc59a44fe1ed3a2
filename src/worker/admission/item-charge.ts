// What one call for one item costs, as far as it is known before the call, and the budget that pays for it.

import type { ErrorClass } from '../../core/items/outcome.ts';
import { isAmount } from '../../core/limits/budget.ts';
import { amount } from '../../core/limits/budget-control.ts';
import type { Phase } from '../../pipeline/pipeline.ts';
import type { JobBudget } from './job-budget.ts';
import type { Permit } from './permit.ts';

/** Plain data: goes to threads too. */
export interface Charge {
  /** Null: the phase says nothing of a cost. */
  estimate: number | null;
  /** What the item has cost before. */
  spentBefore: number;
  /** What the item may cost in all; null: anything. */
  perItem: number | null;
  /** Why there is to be no call. */
  refusal: { class: ErrorClass; message: string } | null;
}

export function plainCharge({ estimate, spentBefore, perItem, refusal }: Charge): Charge {
  return { estimate, spentBefore, perItem, refusal };
}

export class ItemCharge implements Charge, Permit {
  readonly estimate: number | null;
  readonly spentBefore: number;
  readonly perItem: number | null;
  readonly refusal: Charge['refusal'];
  /** Null: no budget limits it. */
  readonly budget: JobBudget | null;

  constructor(charge: Charge, budget: JobBudget | null) {
    this.estimate = charge.estimate;
    this.spentBefore = charge.spentBefore;
    this.perItem = charge.perItem;
    this.refusal = charge.refusal;
    this.budget = budget;
  }

  /** It has to wait for its budget. A phase that says nothing of a cost is free; what it tells is counted. */
  get isGated(): boolean {
    return this.budget !== null && this.estimate !== null && this.refusal === null;
  }

  /** What is set aside for the call. */
  get reserve(): number {
    return this.isGated ? this.estimate! : 0;
  }

  get limit(): JobBudget {
    return this.budget!;
  }

  canStart(nowMs: number): boolean {
    return this.budget!.canStart(this.estimate!, nowMs);
  }

  startInMs(): null {
    return null;
  }

  /** After `canStart` said yes. */
  start(): void {
    if (this.refusal === null) this.budget?.start(this.estimate ?? 0);
  }

  /** The call has ended, or was given up; null: it cost nothing that is known. */
  finish(cost: number | null): void {
    if (this.refusal === null) this.budget?.finish(this.estimate ?? 0, cost ?? 0);
  }
}

type Cost = Phase['cost'];

/** The estimate of a phase for an item, or what is wrong with it. */
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
      wrong: `expected cost to give a number from 0, got ${describeAmount(estimate)}`,
    };
  } catch (error) {
    return {
      estimate: null,
      wrong: `cost could not be estimated: ${(error as Error)?.message ?? String(error)}`,
    };
  }
}

/** Whether another call would be too much for the item; null: it would not. */
export function overItemBudget(charge: Pick<Charge, 'estimate' | 'perItem'>, spent: number): string | null {
  const { perItem, estimate } = charge;
  if (perItem === null) return null;
  const next = estimate ?? 0;
  const rounding = 1e-9 * Math.max(perItem, 1e-3);
  if (next > 0 ? spent + next <= perItem + rounding : spent < perItem - rounding || spent === 0) return null;
  return `budget of ${amount(perItem)} per item reached: ${amount(spent)} spent, the next call is estimated at ${amount(next)}`;
}

export function describeAmount(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
}
