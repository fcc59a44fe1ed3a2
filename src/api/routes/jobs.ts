// Creates, reads, changes and deletes jobs.
import type { jobRoutes } from '../../contract/jobs.ts';
import { checkPays, type JobBudget } from '../../core/limits/budget.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { changeJob } from '../../engine/jobs/change-job.ts';
import { deleteJob, removeRemains } from '../../engine/jobs/delete-job.ts';
import { readVisibleJob } from '../../store/views/jobs/read-job.ts';
import { seenBy } from '../requests/actor.ts';
import type { Handlers } from '../requests/handler.ts';
import { makeJob } from '../jobs/make-job.ts';
import { previewJob } from '../jobs/preview-job.ts';
import { readJobHandlers } from '../jobs/read-jobs.ts';

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
