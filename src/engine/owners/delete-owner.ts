// Deletes everything that belongs to one owner: jobs with rows, results and files, uploads, webhooks, counters, events and
// limits. The audit log keeps who did what. An account of that name stays, because names are never given away again.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { deleteOwnerRows } from '../../store/commands/owners/delete-owner.ts';
import { listOwnerJobs, listOwnerUploads } from '../../store/views/owners/owner-data.ts';
import type { EngineContext } from '../engine-context.ts';
import { deleteJob, removeRemains } from '../jobs/delete-job.ts';
import { recordAudit } from '../record-audit.ts';
import { removeUpload } from '../uploads/remove-upload.ts';

const JOBS_AT_ONCE = 100;

/** Returns the number of deleted jobs. The law goes before jobRetentionMinMs. May be repeated after a failure. */
export async function deleteOwner(context: EngineContext, ownerId: string): Promise<{ jobs: number }> {
  const { db } = context;
  const jobIds: string[] = [];
  for (;;) {
    const jobs = await listOwnerJobs(db, ownerId, JOBS_AT_ONCE);
    refuseOpen(ownerId, jobs);
    for (const { jobId } of jobs) {
      await deleteJob(context, jobId, { keptMs: 0 });
      await removeRemains(context, { jobId });
      jobIds.push(jobId);
    }
    if (jobs.length > 0) continue;
    for (const uploadId of await listOwnerUploads(db, ownerId)) await removeUpload(context, uploadId);
    const isGone = await retryPassing(() =>
      db.transaction(async (tx) => {
        if (!(await deleteOwnerRows(tx, ownerId, jobIds))) return false;
        const detail = { ownerId, jobs: jobIds.length };
        await recordAudit(tx, context, { action: 'owner.delete', subject: `owner ${ownerId}`, detail });
        return true;
      }),
    );
    // Otherwise a job was created in the meantime.
    if (isGone) return { jobs: jobIds.length };
  }
}

function refuseOpen(ownerId: string, jobs: Awaited<ReturnType<typeof listOwnerJobs>>): void {
  const open = jobs.filter(({ state }) => !isFinished(state));
  if (open.length === 0) return;
  const [first] = open;
  throw new RowmillError(
    'JOB_CONFLICT',
    `cannot delete owner ${ownerId}: job ${first!.jobId} is ${first!.state}`,
    { hint: 'Cancel the unfinished jobs of the owner, or wait until they have finished.' },
  );
}
