// Actions of an owner on a job, while it runs and afterwards.
import type { controlRoutes } from '../../contract/control.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { rangesOf } from '../../core/items/seq-ranges.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { retryNow } from '../../engine/items/retry-now.ts';
import { cancelRest, decideCancel } from '../../engine/jobs/cancel-job.ts';
import { pauseJob } from '../../engine/jobs/pause-job.ts';
import { resumeJob } from '../../engine/jobs/resume-job.ts';
import { sealJob } from '../../engine/jobs/seal-job.ts';
import { type Job, readJob } from '../../store/views/jobs/read-job.ts';
import { appendItems } from '../items/append-items.ts';
import { errorGroupHandlers } from '../jobs/change-error-group.ts';
import { previewReprocessRows, reprocessRows } from '../jobs/reprocess-rows.ts';
import { sliceJob } from '../jobs/slice-job.ts';
import type { Handlers } from '../requests/handler.ts';

export const controlHandlers: Handlers<typeof controlRoutes> = {
  async pauseJob({ engine, job }) {
    const changed = await pauseJob(engine, job.jobId);
    return { changed, state: (await jobNow(engine, job.jobId)).state };
  },

  async resumeJob({ engine, job }, { notifier }) {
    const report = await resumeJob(engine, job.jobId);
    await notifier.hint();
    return { ...report };
  },

  async cancelJob({ engine, job }, { background }) {
    const changed = await decideCancel(engine, job.jobId);
    background.start('cancel', () => cancelRest(engine, job.jobId));
    return { changed, state: (await jobNow(engine, job.jobId)).state };
  },

  async sealJob({ engine, job }, { notifier }) {
    if (job.source !== null && job.sealedAt === null)
      throw new RowmillError(
        'JOB_CONFLICT',
        `job ${job.jobId} is sealed automatically at the end of its file`,
        {
          hint: 'Seal only jobs that were created from items.',
        },
      );
    const itemCount = await sealJob(engine, job.jobId);
    await notifier.hint();
    return { itemCount };
  },

  async retryPending({ engine, job, body: { itemIds } }, { notifier }) {
    const readied = await retryNow(engine, job.jobId, itemIds ? rangesOf(itemIds) : null);
    if (readied > 0) await notifier.hint();
    return { readied };
  },

  appendItems,
  sliceJob,
  reprocessJob: reprocessRows,
  previewReprocess: previewReprocessRows,
  ...errorGroupHandlers,
};

async function jobNow({ db }: EngineContext, jobId: string): Promise<Job> {
  const job = await readJob(db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  return job;
}
