// Changes the budget of a job or an owner while jobs run. The audit log records the change. A job that the budget
// paused continues when it is resumed.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { checkBudget, isAmount, type JobBudget } from '../../core/limits/budget.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { setJobBudget, setOwnerBudget } from '../../store/commands/limits/set-budget.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export async function setBudget(
  context: EngineContext,
  jobId: string,
  change: JobBudget,
  actor: string,
): Promise<{ max: number | null; perItem: number | null }> {
  const wrong = checkBudget(change);
  if (wrong !== null) throw new RowmillError('BUDGET_INVALID', wrong);
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const budget = await setJobBudget(tx, jobId, { max: change.max, perItem: change.perItem });
      if (!budget) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
      const detail = { change, budget };
      await recordAudit(tx, context, { actor, action: 'job.budget', subject: `job ${jobId}`, detail });
      return budget;
    }),
  );
}

export interface OwnerBudget {
  /** Limit for all jobs of the owner per day, in UTC. */
  perDay?: number | null;
  /** Limit for all jobs of the owner, ever. */
  total?: number | null;
}

export async function setBudgetOfOwner(
  context: EngineContext,
  ownerId: string,
  change: OwnerBudget,
  actor: string,
): Promise<{ perDay: number | null; total: number | null }> {
  for (const [key, value] of Object.entries(change))
    if (value != null && !isAmount(value))
      throw new RowmillError(
        'BUDGET_INVALID',
        `expected ${key} of the budget to be a number from 0, got ${String(value)}`,
      );
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const budget = await setOwnerBudget(tx, ownerId, { perDay: change.perDay, total: change.total });
      const detail = { change, budget };
      await recordAudit(tx, context, {
        actor,
        action: 'owner.budget',
        subject: `owner ${ownerId}`,
        detail,
      });
      return budget;
    }),
  );
}
