// Where calls of a worker get the budget for them. Budgets that something waits for, is held of or was spent of are synced
// with the database a few times a second, all in one transaction. Jobs without a budget never come here.

import type { Claim } from '../../engine/claims/claim-work.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { scopeKey, syncBudgets } from '../../engine/limits/sync-budgets.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { BudgetLine } from './budget-line.ts';
import { ScopeBudget } from './scope-budget.ts';
import { SyncLoop } from './sync-loop.ts';

/** In one transaction; others come with the next one. */
const SCOPES_PER_SYNC = 500;
/** An item that was taken out of the queue a moment ago may still need it. */
const FORGET_MS = 60_000;

export interface BudgetDeskOptions {
  context: EngineContext;
  workerId: string;
  /** Something may start: pools look again. */
  onBudget: () => void;
}

export class BudgetDesk {
  readonly #options: BudgetDeskOptions;
  readonly #scopes = new Map<string, ScopeBudget>();
  /** By job, and what it is charged to. */
  readonly #lines = new Map<string, BudgetLine>();
  readonly #loop: SyncLoop;
  #made = 0;

  constructor(options: BudgetDeskOptions) {
    this.#options = options;
    const { context, onBudget } = options;
    this.#loop = new SyncLoop({
      intervalMs: context.settings.resourceSyncMs,
      sync: () => this.#sync(),
      onFailed: (error) => context.events.emit('budget.sync_failed', { error }),
      needsSync: (nowMs) => [...this.#scopes.values()].some((scope) => scope.needsSync(nowMs)),
      isActive: () => [...this.#scopes.values()].some((scope) => !scope.isIdle),
      onLook: onBudget,
    });
  }

  /** Changes whenever something may start that could not before. */
  version = 0;

  /** Null: calls of this job may cost anything. */
  lineOf({ jobId, owner, budget }: Claim): BudgetLine | null {
    if (budget === null || budget.scopes.length === 0) return null;
    const key = `${jobId} ${budget.scopes.join()}`;
    const known = this.#lines.get(key);
    if (known) {
      known.idleSinceMs = null;
      return known;
    }
    const scopes = budget.scopes.map((kind) =>
      this.#scopeOf(scopeKey(kind, { jobId, ownerId: owner.ownerId })),
    );
    const line: BudgetLine = new BudgetLine(jobId, scopes, {
      onWant: () => this.#want(line),
      onChange: () => {
        this.version += 1;
      },
    });
    this.#lines.set(key, line);
    return line;
  }

  /** Gives back what is held, and tells the rest of what was spent. */
  stop(): Promise<void> {
    return this.#loop.stop(() => {
      for (const line of this.#lines.values()) line.demands.clear();
    });
  }

  #scopeOf(key: string): ScopeBudget {
    const known = this.#scopes.get(key);
    if (known) return known;
    this.#made += 1;
    const { context, workerId } = this.#options;
    const scope = new ScopeBudget(key, `${workerId}.${this.#made}`, context.settings.resourceSyncMs);
    this.#scopes.set(key, scope);
    return scope;
  }

  #want({ scopes }: BudgetLine): void {
    const nowMs = monotonicMs();
    this.#loop.want(
      scopes.some((scope) => scope.needsSync(nowMs)),
      null,
      nowMs,
    );
  }

  async #sync(): Promise<void> {
    const { context } = this.#options;
    const askedAtMs = monotonicMs();
    const chosen = this.#chooseOpen(askedAtMs);
    if (chosen.length === 0) return;
    const reports = chosen.map((scope) => scope.report(askedAtMs));
    // What was to be told and could not is told with the next one: sums are told, not changes.
    const grants = new Map((await syncBudgets(context, reports)).map((grant) => [grant.scope, grant]));
    const nowMs = monotonicMs();
    for (const [at, scope] of chosen.entries()) {
      const grant = grants.get(scope.scope);
      if (grant) scope.apply(grant, reports[at]!, askedAtMs, nowMs, context.settings.resourceLeaseMs);
    }
    this.version += 1;
  }

  /** Forgets what nobody needs any more. What is left out goes first the next time. */
  #chooseOpen(nowMs: number): ScopeBudget[] {
    for (const [key, line] of this.#lines) {
      line.idleSinceMs = line.isIdle ? (line.idleSinceMs ?? nowMs) : null;
      if (line.idleSinceMs === null || nowMs - line.idleSinceMs < FORGET_MS) continue;
      this.#lines.delete(key);
      for (const scope of line.scopes) scope.lines.delete(line);
    }
    for (const [key, scope] of this.#scopes)
      if (scope.isIdle && scope.lines.size === 0) this.#scopes.delete(key);
    const chosen = [...this.#scopes.values()].filter((scope) => !scope.isIdle).slice(0, SCOPES_PER_SYNC);
    for (const scope of chosen) {
      this.#scopes.delete(scope.scope);
      this.#scopes.set(scope.scope, scope);
    }
    return chosen;
  }
}
