// POST /api/jobs/:jobId/items: more items for a job that is not sealed. With `from` the same request again appends
// nothing, and one that was cut off is gone on with.
import type { controlRoutes } from '../contract/control.ts';
import { RowmillError } from '../core/rowmill-error.ts';
import { addItems, toRow } from '../engine/add-items.ts';
import { type Job, readJob } from '../store/views/read-job.ts';
import type { Handler } from './handler.ts';

export const appendItems: Handler<typeof controlRoutes.appendItems> = async (
  { engine, job, body },
  context,
) => {
  if (job.source !== null)
    throw new RowmillError('JOB_CONFLICT', `the items of job ${job.jobId} come from its file`);
  const { items, from } = body;
  // All of them or none.
  for (const [position, item] of items.entries()) toRow(item, position);
  let stored = 0;
  if (from === undefined) await addItems(engine, job.jobId, items, { audited: true });
  else {
    stored = storedOf(job) - from;
    if (stored < 0 || stored > items.length)
      throw new RowmillError(
        'JOB_CONFLICT',
        `expected job ${job.jobId} to have ${from} items, or up to ${items.length} more of this request, it has ${storedOf(job)}`,
        { hint: 'Somebody else appended to it, or `from` is wrong.' },
      );
    if (stored < items.length)
      await addItems(engine, job.jobId, items.slice(stored), { behind: from + stored, audited: true });
  }
  await context.notifier.hint();
  const now = (await readJob(engine.db, job.jobId)) ?? job;
  return { itemCount: now.itemCount, appended: items.length - stored };
};

/** Handlers may have emitted some meanwhile. */
function storedOf({ itemCount, ingestReport }: Job): number {
  return itemCount - (ingestReport.emitted ?? 0);
}
