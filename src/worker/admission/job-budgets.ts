// The budgets that one job's calls are charged to. Items wait in order, so the next sync asks for the cost of the
// first item.

import type { Demand, Limit } from './permit.ts';
import type { ScopeBudget } from './scope-budget.ts';

export class JobBudgets implements Limit {
  readonly reason = 'budget';
  readonly isBudget = true;
  readonly jobId: string;
  readonly scopes: readonly ScopeBudget[];
  readonly demands = new Map<object, Demand>();
  /** Null: in use, or not checked yet. */
  idleSinceMs: number | null = null;
  readonly #onWant: () => void;
  readonly #onChange: () => void;

  constructor(
    jobId: string,
    scopes: readonly ScopeBudget[],
    { onWant, onChange }: { onWant: () => void; onChange: () => void },
  ) {
    this.jobId = jobId;
    this.scopes = scopes;
    this.#onWant = onWant;
    this.#onChange = onChange;
    for (const scope of scopes) scope.jobs.add(this);
  }

  get isShort(): boolean {
    return this.scopes.some((scope) => scope.isShort);
  }

  canStart(cost: number, nowMs: number): boolean {
    return this.scopes.every((scope) => scope.canStart(cost, nowMs));
  }

  start(cost: number): void {
    for (const scope of this.scopes) scope.start(cost);
  }

  finish(estimate: number, cost: number): void {
    for (const scope of this.scopes) scope.finish(estimate, cost);
    this.#onChange();
    this.#onWant();
  }

  want(): void {
    this.#onWant();
  }

  putBack(): number {
    return 0;
  }

  get isIdle(): boolean {
    return this.demands.size === 0 && this.scopes.every((scope) => scope.isIdle);
  }
}
