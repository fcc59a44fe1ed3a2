// Finds a job by its id or the first characters of its id.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { contextOf, type Rowmill } from '../open-rowmill.ts';
import { findJobsByPrefix, type Job } from '../store/views/jobs/read-job.ts';

export async function findJob(rowmill: Rowmill, prefix: string): Promise<Job> {
  if (!/^[0-9a-f-]{1,36}$/i.test(prefix))
    throw new RowmillError('JOB_NOT_FOUND', `${JSON.stringify(prefix)} is not the id of a job`);
  const found = await findJobsByPrefix(contextOf(rowmill).db, prefix);
  if (found.length === 1) return found[0]!;
  const message =
    found.length === 0 ? `there is no job ${prefix}` : `more than one job starts with ${prefix}`;
  throw new RowmillError('JOB_NOT_FOUND', message);
}
