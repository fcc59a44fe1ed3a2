// Resumes a paused job, or releases the items that a trial holds: one stop at a time. The last flush of a paused job
// cannot complete it, so resuming checks whether it is complete.
import { CLAIMABLE_STATES, type JobState } from '../../core/jobs/job-state.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { budgetSentence, isUsedUp } from '../../core/limits/budget-control.ts';
import { resumeJobRow } from '../../store/commands/jobs/pause-job.ts';
import { endTrial, releaseHeld } from '../../store/commands/spans/release-held.ts';
import type { EngineContext } from '../engine-context.ts';
import type { Executor } from '../../platform/database.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import { readBudgets } from '../../store/views/limits/read-budgets.ts';
import { finalizeIfComplete } from './finalize-if-complete.ts';
import { recordChange } from './record-change.ts';
import { refuseControl } from './refuse-control.ts';

export interface ResumeReport {
  /** This call lifted the stop; only one of several concurrent calls does. */
  changed: boolean;
  state: JobState;
  /** Number of items of a trial that may run now. */
  released: number;
}

export async function resumeJob(context: EngineContext, jobId: string): Promise<ResumeReport> {
  const change = { jobId, kind: 'job.resumed', action: 'job.resume' };
  const resumed = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      await refuseIfUsedUp(tx, jobId);
      const state = await resumeJobRow(tx, jobId);
      if (state !== null) await recordChange(tx, context, change);
      return state;
    }),
  );
  if (resumed !== null) {
    context.events.emit('job.resumed', { jobId, state: resumed, released: 0 });
    await finalizeIfComplete(context, jobId);
    return { changed: true, state: resumed, released: 0 };
  }
  const released = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (!(await endTrial(tx, jobId))) return null;
      const items = await releaseHeld(tx, jobId);
      await recordChange(tx, context, { ...change, detail: { released: items } });
      return items;
    }),
  );
  const { state } = await refuseControl(context, jobId, 'resume', (job) =>
    CLAIMABLE_STATES.includes(job.state),
  );
  if (released !== null) context.events.emit('job.resumed', { jobId, state, released });
  return { changed: released !== null, state, released: released ?? 0 };
}

/** A job that was paused by a budget and cannot pay for any call would pause again immediately. */
async function refuseIfUsedUp(tx: Executor, jobId: string): Promise<void> {
  const job = await readJob(tx, jobId);
  if (job === null || job.pausedBecause === null) return;
  const usedUp = (await readBudgets(tx, jobId)).find(isUsedUp);
  if (usedUp === undefined) return;
  const sentence = budgetSentence({ ...job, scope: usedUp.scope }, usedUp.max, usedUp, null);
  throw new RowmillError('BUDGET_USED_UP', `cannot resume job ${jobId}: ${sentence}`);
}
