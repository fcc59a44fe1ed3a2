// Seals a job: no more items will be added. Sealing also checks whether the job is complete: items may have finished
// before the seal, and an empty job has no flush that would complete it.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { type SealOfFile, sealJobRow } from '../../store/commands/jobs/seal-job.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeIfComplete } from './finalize-if-complete.ts';
import { recordChange } from './record-change.ts';

/** Returns the total. Sealing a sealed job again changes nothing. */
export async function sealJob(context: EngineContext, jobId: string, file?: SealOfFile): Promise<number> {
  const sealed = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      const items = await sealJobRow(tx, jobId, file);
      if (items !== null)
        await recordChange(tx, context, {
          jobId,
          kind: 'job.sealed',
          // The end of a file seals its job without a user's action.
          ...(file === undefined && { action: 'job.seal' }),
          detail: { items },
        });
      return items;
    }),
  );
  const total = sealed ?? (await totalOfSealed(context, jobId));
  if (sealed !== null) context.events.emit('job.sealed', { jobId, total });
  await finalizeIfComplete(context, jobId);
  return total;
}

async function totalOfSealed(context: EngineContext, jobId: string): Promise<number> {
  const job = await retryPassing(() => readJob(context.db, jobId));
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  if (job.sealedAt === null) {
    throw new RowmillError(
      'JOB_NOT_INGESTING',
      `expected job ${jobId} to be open for items, it is ${job.state}`,
    );
  }
  return job.itemCount;
}
