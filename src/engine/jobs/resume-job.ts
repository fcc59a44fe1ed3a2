// Resumes a paused job, or releases what a trial holds back: one stop is lifted at a time. The last flush of a paused
// job could not end it, so the resume looks for the end.
import { CLAIMABLE_STATES, type JobState } from '../../core/jobs/job-state.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { resumeJobRow } from '../../store/commands/jobs/pause-job.ts';
import { endTrial, releaseHeld } from '../../store/commands/spans/release-held.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeIfComplete } from './finalize-job.ts';
import { recordChange } from './record-change.ts';
import { refuseControl } from './refuse-control.ts';

export interface ResumeReport {
  /** This call lifted the stop. Of several at once one does. */
  changed: boolean;
  state: JobState;
  /** Items of a trial that may run from now on. */
  released: number;
}

export async function resumeJob(context: EngineContext, jobId: string): Promise<ResumeReport> {
  const change = { jobId, kind: 'job.resumed', action: 'job.resume' };
  const resumed = await retryPassing(() =>
    context.db.transaction(async (tx) => {
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
