// Provides the budgets for a worker's calls. Budgets that are wanted, held or spent from are synced with the
// database. Jobs without a budget do not use it.
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { scopeKey, syncBudgets } from '../../engine/limits/sync-budgets.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { JobBudgets } from './job-budgets.ts';
import { LimitSync } from './limit-sync.ts';
import { ScopeBudget } from './scope-budget.ts';

/** Idle budgets are kept this long, because an item just taken from the queue may still need its budget. */
const FORGET_MS = 60_000;

export interface BudgetLimiterOptions {
  context: EngineContext;
  workerId: string;
  /** Runs when items may be able to start, so that pools check again. */
  onBudget: () => void;
}

export class BudgetLimiter {
  readonly #options: BudgetLimiterOptions;
  readonly #scopes: LimitSync<ScopeBudget>;
  /** By job id and charged scopes. */
  readonly #jobs = new Map<string, JobBudgets>();
  #made = 0;

  constructor(options: BudgetLimiterOptions) {
    this.#options = options;
    const { context, onBudget } = options;
    this.#scopes = new LimitSync({
      intervalMs: context.settings.resourceSyncMs,
      sync: (scopes) => this.#sync(scopes),
      onFailed: (error) => context.events.emit('budget.sync_failed', { error }),
      onLook: onBudget,
    });
  }

  /** Changes whenever blocked items may be able to start. */
  get version(): number {
    return this.#scopes.version;
  }

  /** Null: the job has no budget. */
  budgetOf({ jobId, owner, budget }: Claim): JobBudgets | null {
    if (budget === null || budget.scopes.length === 0) return null;
    const key = `${jobId} ${budget.scopes.join()}`;
    const known = this.#jobs.get(key);
    if (known) {
      known.idleSinceMs = null;
      return known;
    }
    const scopes = budget.scopes.map((kind) =>
      this.#scopeOf(scopeKey(kind, { jobId, ownerId: owner.ownerId })),
    );
    const made: JobBudgets = new JobBudgets(jobId, scopes, {
      onWant: () => this.#want(made),
      onChange: () => {
        this.#scopes.version += 1;
      },
    });
    this.#jobs.set(key, made);
    return made;
  }

  /** Returns held amounts and reports the remaining spending. */
  stop(): Promise<void> {
    return this.#scopes.stop(() => {
      for (const job of this.#jobs.values()) job.demands.clear();
    });
  }

  #scopeOf(key: string): ScopeBudget {
    const known = this.#scopes.get(key);
    if (known) return known;
    this.#made += 1;
    const { context, workerId } = this.#options;
    const scope = new ScopeBudget(key, `${workerId}.${this.#made}`, context.settings.resourceSyncMs);
    this.#scopes.add(key, scope);
    return scope;
  }

  #want({ scopes }: JobBudgets): void {
    const nowMs = monotonicMs();
    const needsSync = scopes.some((scope) => scope.needsSync(nowMs));
    this.#scopes.want(needsSync, null, nowMs);
  }

  async #sync(chosen: ScopeBudget[]): Promise<void> {
    const { context } = this.#options;
    const askedAtMs = monotonicMs();
    this.#forgetIdle(askedAtMs);
    const reports = chosen.map((scope) => scope.report(askedAtMs));
    // A failed sync needs no replay: reports carry totals, not deltas.
    const grants = new Map((await syncBudgets(context, reports)).map((grant) => [grant.scope, grant]));
    const nowMs = monotonicMs();
    for (const [at, scope] of chosen.entries()) {
      const grant = grants.get(scope.scope);
      if (grant) scope.apply(grant, reports[at]!, askedAtMs, nowMs, context.settings.resourceLeaseMs);
    }
    this.#scopes.version += 1;
  }

  #forgetIdle(nowMs: number): void {
    for (const [key, job] of this.#jobs) {
      job.idleSinceMs = job.isIdle ? (job.idleSinceMs ?? nowMs) : null;
      if (job.idleSinceMs === null || nowMs - job.idleSinceMs < FORGET_MS) continue;
      this.#jobs.delete(key);
      for (const scope of job.scopes) scope.jobs.delete(job);
    }
  }
}
