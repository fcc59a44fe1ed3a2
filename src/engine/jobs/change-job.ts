// Changes name, priority, budget or retention of a job in any state, together with the audit entry.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { checkBudget, type JobBudget } from '../../core/limits/budget.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { changeJobRow, type JobChange } from '../../store/commands/jobs/change-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordChange } from './record-change.ts';

export async function changeJob(context: EngineContext, jobId: string, change: JobChange): Promise<void> {
  const wrong = change.budget === undefined ? null : checkBudget(change.budget as JobBudget);
  if (wrong !== null) throw new RowmillError('BUDGET_INVALID', wrong);
  await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (!(await changeJobRow(tx, jobId, change)))
        throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
      const detail = { ...change };
      await recordChange(tx, context, { jobId, kind: 'job.changed', action: 'job.change', detail });
    }),
  );
}
