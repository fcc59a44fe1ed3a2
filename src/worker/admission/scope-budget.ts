// What this worker may spend of one budget until it syncs the next time. Estimates are taken out before calls start; what
// they really cost takes their place when they have ended.
import type { BudgetGrant } from '../../core/limits/budget-control.ts';
import type { ScopeReport } from '../../engine/limits/sync-budgets.ts';
import type { JobBudget } from './job-budget.ts';

const ROUNDING = 1e-9;

export class ScopeBudget {
  readonly scope: string;
  /** Jobs that are charged to it. */
  readonly jobs = new Set<JobBudget>();
  /** Another one for each object: what it tells begins at 0. */
  readonly #holderId: string;
  readonly #intervalMs: number;
  #calls = 0;
  #reserved = 0;
  #settled = 0;
  #confirmed = 0;
  #held = 0;
  #heldUntilMs = 0;
  #isOpen = false;
  /** The last answer was not enough for the next call. */
  isShort = false;
  /** Taken out since the last sync: about as much will be wanted until the next one. */
  #started = 0;
  /** Nothing more is to be had before. */
  #syncAgainMs = 0;

  constructor(scope: string, holderId: string, intervalMs: number) {
    this.scope = scope;
    this.#holderId = holderId;
    this.#intervalMs = intervalMs;
  }

  get isIdle(): boolean {
    return this.#calls === 0 && this.#held === 0 && this.#settled === this.#confirmed && !this.#isWanted;
  }

  /** Nothing is charged to it any more. */
  get isForgettable(): boolean {
    return this.isIdle && this.jobs.size === 0;
  }

  canStart(cost: number, nowMs: number): boolean {
    if (nowMs >= this.#heldUntilMs) return false;
    const free = this.#free;
    const rounding = ROUNDING * Math.max(this.#held, 1e-3);
    // A call without a cost waits until those before it have told theirs.
    return cost > 0 ? cost <= free + rounding : this.#isOpen && free >= -rounding;
  }

  start(cost: number): void {
    this.#calls += 1;
    this.#reserved += cost;
    this.#started += cost;
  }

  finish(estimate: number, cost: number): void {
    this.#calls -= 1;
    // Sums of parts need not come out even.
    this.#reserved = this.#calls === 0 ? 0 : this.#reserved - estimate;
    this.#settled += cost;
  }

  /** True when a sync may bring something that is wanted and not there. */
  needsSync(nowMs: number): boolean {
    if (nowMs < this.#syncAgainMs) return false;
    for (const { demands } of this.jobs)
      for (const { slots, next } of demands.values())
        if (slots > 0 && !this.canStart(next, nowMs)) return true;
    return false;
  }

  /** Until the answer is there nothing more is started: the others are given what is left. */
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
    // From when it was asked for: the database counts from a later moment.
    this.#heldUntilMs = askedAtMs + leaseMs;
    const { next, reserved } = report;
    this.isShort = next !== null && (next > 0 ? grant.held === reserved : !grant.isOpen);
    this.#syncAgainMs = this.isShort ? nowMs + this.#intervalMs : 0;
  }

  /** Neither reserved by calls under way nor used up by those that ended. */
  get #free(): number {
    return this.#held - this.#reserved - (this.#settled - this.#confirmed);
  }

  get #isWanted(): boolean {
    for (const { demands } of this.jobs) if (demands.size > 0) return true;
    return false;
  }
}
