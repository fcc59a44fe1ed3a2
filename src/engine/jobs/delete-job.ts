// Removes a finished job. One transaction takes its row away, and with it the job is gone for everybody; its rows and files
// follow in bounded steps, which any process goes on with after a crash.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { settleContributions } from '../../store/commands/counters/settle-contributions.ts';
import { dropFileSetOfJob } from '../../store/commands/items/change-file-sets.ts';
import { endRemoval, removeJobRow, removeRest, removeRows } from '../../store/commands/jobs/remove-job.ts';
import { findReferencedFiles } from '../../store/views/files/find-referenced-blobs.ts';
import { type JobRemoval, listRemovals } from '../../store/views/jobs/list-removals.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { removeSetBlobs, setOfFile } from '../items/file-set.ts';
import { recordChange } from './record-change.ts';
import { retryIfPassing } from './refuse-control.ts';

const ROWS_PER_STEP = 10_000;

/** Gone for everybody when this resolves; `removeRemains` does what is left. */
export async function deleteJob(context: EngineContext, jobId: string): Promise<void> {
  const { db, settings } = context;
  let tries = 0;
  try {
    await retryPassing(() => {
      tries += 1;
      return db.transaction(async (tx) => {
        const job = await readJob(tx, jobId);
        if (!job) throw new NotRemoved();
        const { ownerId, pipeline, name, itemCount } = job;
        const detail = { ownerId, pipeline, name, itemCount };
        // While the row is there: the event says whose job it was.
        await recordChange(tx, context, { jobId, kind: 'job.deleted', action: 'job.delete', detail });
        if (!(await removeJobRow(tx, jobId, settings.jobRetentionMinMs))) throw new NotRemoved();
      });
    });
  } catch (error) {
    if (!(error instanceof NotRemoved)) throw error;
    // A commit whose reply was lost: it is gone, by us.
    if (tries === 1 || (await listRemovals(db, jobId)).length === 0) await refuse(context, jobId);
  }
  context.events.emit('job.deleted', { jobId });
}

/** Takes back what was recorded. */
class NotRemoved extends Error {}

async function refuse({ db, settings }: EngineContext, jobId: string): Promise<never> {
  const job = await readJob(db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  if (!isFinished(job.state))
    throw new RowmillError('JOB_CONFLICT', `cannot remove job ${jobId}: it is ${job.state}`, {
      hint: 'Cancel it, or wait until it has finished.',
      ...retryIfPassing(job.state),
    });
  throw new RowmillError(
    'JOB_RETAINED',
    `job ${jobId} is kept for ${settings.jobRetentionMinMs} ms after its end (jobRetentionMinMs)`,
  );
}

/** Of one removed job, or of all. Safe to run everywhere at once: what is gone is gone. */
export async function removeRemains(
  context: EngineContext,
  options: { jobId?: string; signal?: AbortSignal; rowsPerStep?: number } = {},
): Promise<void> {
  const { jobId = null, signal, rowsPerStep = ROWS_PER_STEP } = options;
  for (const removal of await listRemovals(context.db, jobId)) {
    // What it contributed to counters stays in them.
    let settled = rowsPerStep;
    while (settled === rowsPerStep && !signal?.aborted)
      settled = await retryPassing(() => settleContributions(context.db, removal.jobId, rowsPerStep));
    let isLeft = true;
    while (isLeft && !signal?.aborted)
      isLeft = await retryPassing(() => removeRows(context.db, removal.jobId, rowsPerStep));
    if (signal?.aborted) return;
    await removeBlobs(context, removal);
    await retryPassing(() =>
      context.db.transaction(async (tx) => {
        await removeRest(tx, removal.jobId);
        await endRemoval(tx, removal.jobId);
      }),
    );
  }
}

async function removeBlobs(
  context: EngineContext,
  { jobId, blobKey, jobCreatedAt }: JobRemoval,
): Promise<void> {
  const { blobs, db } = context;
  for (const prefix of [`outputs/${jobId}/`, `exports/${jobId}/`])
    for await (const { key } of blobs.list(prefix)) await blobs.delete(key);
  const setId = blobKey && setOfFile(blobKey);
  if (blobKey !== null && setId !== null) {
    await dropFileSetOfJob(db, setId, jobId);
    return removeSetBlobs(context, setId, blobKey);
  }
  if (blobKey === null || (await findReferencedFiles(db, [blobKey])).has(blobKey)) return;
  // Written again since: somebody is about to make a job of the same bytes. If not, the collector finds them.
  const blob = await blobs.head(blobKey);
  if (blob && blob.modifiedAt <= jobCreatedAt) await blobs.delete(blobKey);
}
