// Jobs: made, looked at, changed, removed.
import type { jobRoutes } from '../../contract/jobs.ts';
import { checkPays, type JobBudget } from '../../core/budget.ts';
import { RowmillError } from '../../core/rowmill-error.ts';
import { changeJob } from '../../engine/change-job.ts';
import { deleteJob, removeRemains } from '../../engine/delete-job.ts';
import { readVisibleJob } from '../../store/views/read-job.ts';
import { seenBy } from '../actor.ts';
import type { Handlers } from '../handler.ts';
import { makeJob } from '../make-job.ts';
import { previewJob } from '../preview-job.ts';
import { readJobHandlers } from '../read-jobs.ts';

export const jobHandlers: Handlers<typeof jobRoutes> = {
  ...readJobHandlers,
  createJob: makeJob,
  previewJob,

  async changeJob(request, context) {
    const { actor, body, engine, job } = request;
    const pipeline = context.pipelines.findLast(({ name }) => name === job.pipeline);
    const unpaid = pipeline && body.budget ? checkPays(pipeline, body.budget as JobBudget) : null;
    if (unpaid !== null) throw new RowmillError('BUDGET_INVALID', unpaid);
    await changeJob(engine, job.jobId, body);
    if (body.priority !== undefined) await context.notifier.hint();
    const changed = await readVisibleJob(engine.db, job.jobId, seenBy(actor));
    if (!changed) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${job.jobId}`);
    return readJobHandlers.getJob({ ...request, query: undefined, body: undefined, job: changed }, context);
  },

  async deleteJob({ engine, job }, { background }) {
    await deleteJob(engine, job.jobId);
    background.start('delete', (signal) => removeRemains(engine, { jobId: job.jobId, signal }));
    return undefined;
  },
};
