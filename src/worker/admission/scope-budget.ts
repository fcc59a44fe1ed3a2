// The amount of one budget that this worker may spend until the next sync. Estimates are reserved before calls start
// and replaced by the actual cost when calls finish.
import type { BudgetGrant } from '../../core/limits/budget-control.ts';
import type { ScopeReport } from '../../engine/limits/sync-budgets.ts';
import type { JobBudgets } from './job-budgets.ts';

const ROUNDING = 1e-9;

export class ScopeBudget {
  readonly scope: string;
  /** Jobs that are charged to it. */
  readonly jobs = new Set<JobBudgets>();
  /** Unique per object, because its reported totals start at 0. */
  readonly #holderId: string;
  readonly #intervalMs: number;
  #calls = 0;
  #reserved = 0;
  #settled = 0;
  #confirmed = 0;
  #held = 0;
  #heldUntilMs = 0;
  #isOpen = false;
  /** True if the last grant was not enough for the next call. */
  isShort = false;
  /** Reserved since the last sync: about as much will be needed until the next one. */
  #started = 0;
  /** No more budget is available before this time. */
  #syncAgainMs = 0;

  constructor(scope: string, holderId: string, intervalMs: number) {
    this.scope = scope;
    this.#holderId = holderId;
    this.#intervalMs = intervalMs;
  }

  get isIdle(): boolean {
    return this.#calls === 0 && this.#held === 0 && this.#settled === this.#confirmed && !this.#isWanted;
  }

  get isForgettable(): boolean {
    return this.isIdle && this.jobs.size === 0;
  }

  canStart(cost: number, nowMs: number): boolean {
    if (nowMs >= this.#heldUntilMs) return false;
    const free = this.#free;
    const rounding = ROUNDING * Math.max(this.#held, 1e-3);
    // A call without an estimate waits until earlier calls have reported their costs.
    return cost > 0 ? cost <= free + rounding : this.#isOpen && free >= -rounding;
  }

  start(cost: number): void {
    this.#calls += 1;
    this.#reserved += cost;
    this.#started += cost;
  }

  finish(estimate: number, cost: number): void {
    this.#calls -= 1;
    // Reset to 0 without running calls, because floating-point sums leave a remainder.
    this.#reserved = this.#calls === 0 ? 0 : this.#reserved - estimate;
    this.#settled += cost;
  }

  /** True if a sync may bring budget that is wanted and not available. */
  needsSync(nowMs: number): boolean {
    if (nowMs < this.#syncAgainMs) return false;
    for (const { demands } of this.jobs)
      for (const { slots, next } of demands.values())
        if (slots > 0 && !this.canStart(next, nowMs)) return true;
    return false;
  }

  /** Creates the report of a sync. Until the answer arrives no call starts, because others are granted the rest. */
  report(nowMs: number): ScopeReport {
    this.#syncAgainMs = nowMs + this.#intervalMs;
    this.#held = this.#reserved + this.#settled - this.#confirmed;
    this.#isOpen = false;
    let wanted = 0;
    let next: number | null = null;
    const jobIds: string[] = [];
    for (const { demands, jobId } of this.jobs) {
      if (demands.size > 0) jobIds.push(jobId);
      for (const demand of demands.values()) {
        wanted += demand.cost;
        next = next === null ? demand.next : Math.min(next, demand.next);
      }
    }
    wanted = next === null ? 0 : Math.max(wanted, this.#started * 2);
    this.#started = 0;
    return {
      scope: this.scope,
      jobIds,
      holderId: this.#holderId,
      settled: this.#settled,
      confirmed: this.#confirmed,
      reserved: this.#reserved,
      wanted,
      next,
    };
  }

  apply(grant: BudgetGrant, report: ScopeReport, askedAtMs: number, nowMs: number, leaseMs: number): void {
    this.#held = grant.held;
    this.#isOpen = grant.isOpen;
    this.#confirmed = report.settled;
    // Counted from the request: the database counts from a later time, so the lease never ends there first.
    this.#heldUntilMs = askedAtMs + leaseMs;
    const { next, reserved } = report;
    this.isShort = next !== null && (next > 0 ? grant.held === reserved : !grant.isOpen);
    this.#syncAgainMs = this.isShort ? nowMs + this.#intervalMs : 0;
  }

  /** Held, and neither reserved by running calls nor spent by finished ones. */
  get #free(): number {
    return this.#held - this.#reserved - (this.#settled - this.#confirmed);
  }

  get #isWanted(): boolean {
    for (const { demands } of this.jobs) if (demands.size > 0) return true;
    return false;
  }
}
