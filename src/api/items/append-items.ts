// POST /api/jobs/:jobId/items: appends items to an unsealed job. With `from` the request is idempotent, and an
// interrupted one resumes.
import type { controlRoutes } from '../../contract/control.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { addItems, toRow } from '../../engine/items/add-items.ts';
import { appendItemsAt } from '../../engine/items/append-items.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import type { Handler } from '../requests/handler.ts';

export const appendItems: Handler<typeof controlRoutes.appendItems> = async (
  { engine, job, body },
  context,
) => {
  const { jobId } = job;
  if (job.source !== null)
    throw new RowmillError('JOB_CONFLICT', `the items of job ${jobId} come from its file`);
  const { items, from } = body;
  // Checks every item before any is stored.
  for (const [position, item] of items.entries()) toRow(item, position);
  const appended =
    from === undefined
      ? await addItems(engine, jobId, items, { audited: true })
      : await appendItemsAt(engine, jobId, items, from);
  await context.notifier.hint();
  const now = (await readJob(engine.db, jobId)) ?? job;
  return { itemCount: now.itemCount, appended };
};
