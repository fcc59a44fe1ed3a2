// Deletes a finished job. One transaction deletes its row, and with it the job is gone for all readers. Its rows and
// files follow in bounded steps, which any process resumes after a crash.

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

/**
 * When this resolves, the job is gone for all readers. `removeRemains` deletes the rest. A job that finished less than
 * `keptMs` ago is refused.
 */
export async function deleteJob(
  context: EngineContext,
  jobId: string,
  { keptMs = context.settings.jobRetentionMinMs }: { keptMs?: number } = {},
): Promise<void> {
  const { db } = context;
  let tries = 0;
  try {
    await retryPassing(() => {
      tries += 1;
      return db.transaction(async (tx) => {
        const job = await readJob(tx, jobId);
        if (!job) throw new NotRemoved();
        const { ownerId, pipeline, name, itemCount } = job;
        const detail = { ownerId, pipeline, name, itemCount };
        // Recorded while the row exists, because the event names the owner of the job.
        await recordChange(tx, context, { jobId, kind: 'job.deleted', action: 'job.delete', detail });
        if (!(await removeJobRow(tx, jobId, keptMs))) throw new NotRemoved();
      });
    });
  } catch (error) {
    if (!(error instanceof NotRemoved)) throw error;
    // After a lost COMMIT reply: this call deleted the job.
    if (tries === 1 || (await listRemovals(db, jobId)).length === 0) await refuse(context, jobId);
  }
  context.events.emit('job.deleted', { jobId });
}

/** Rolls the transaction back. */
class NotRemoved extends Error {}

async function refuse({ db, settings }: EngineContext, jobId: string): Promise<never> {
  const job = await readJob(db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  if (!isFinished(job.state))
    throw new RowmillError('JOB_CONFLICT', `cannot delete job ${jobId}: it is ${job.state}`, {
      hint: 'Cancel it, or wait until it has finished.',
      ...retryIfPassing(job.state),
    });
  throw new RowmillError(
    'JOB_RETAINED',
    `job ${jobId} is kept for ${settings.jobRetentionMinMs} ms after it has finished (jobRetentionMinMs)`,
  );
}

/** Deletes the rest of one deleted job, or of all. Any number of processes may run it at the same time. */
export async function removeRemains(
  context: EngineContext,
  options: { jobId?: string; signal?: AbortSignal; rowsPerStep?: number } = {},
): Promise<void> {
  const { jobId = null, signal, rowsPerStep = ROWS_PER_STEP } = options;
  for (const removal of await listRemovals(context.db, jobId)) {
    // Its contributions stay in the counters.
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
  // If the blob was written again since, a job is about to be created from the same bytes. Otherwise the blob
  // collector deletes it.
  const blob = await blobs.head(blobKey);
  if (blob && blob.modifiedAt <= jobCreatedAt) await blobs.delete(blobKey);
}
