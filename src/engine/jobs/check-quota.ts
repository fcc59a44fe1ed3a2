// Quotas of one owner. Checked twice: before an upload, to avoid a useless one, and under the owner's lock after a
// job is inserted, so that concurrent requests cannot exceed them together.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Executor } from '../../platform/database.ts';
import type { Settings } from '../../platform/settings.ts';
import { readOwnerUsage } from '../../store/views/limits/read-owner-usage.ts';

/** `coming`: usage that is not stored yet. */
export async function checkQuota(
  db: Executor,
  { ownerMaxOpenJobs, ownerMaxStoredBytes }: Settings,
  ownerId: string,
  coming: { jobs: number; bytes: number } = { jobs: 0, bytes: 0 },
): Promise<void> {
  const { openJobs, storedBytes } = await readOwnerUsage(db, ownerId);
  if (openJobs + coming.jobs > ownerMaxOpenJobs)
    throw new RowmillError(
      'QUOTA_EXCEEDED',
      `expected ${ownerId} to have at most ${ownerMaxOpenJobs} unfinished jobs (ownerMaxOpenJobs), this would be one more`,
    );
  if (storedBytes + coming.bytes > ownerMaxStoredBytes)
    throw new RowmillError(
      'QUOTA_EXCEEDED',
      `expected the files of ${ownerId} to have at most ${ownerMaxStoredBytes} bytes together (ownerMaxStoredBytes), this would be more`,
    );
}
