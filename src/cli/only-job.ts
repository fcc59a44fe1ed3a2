// The one job that starts with the characters a user typed, on the database and over a server. Not in find-job.ts, so
// that commands over a server do not load the database.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { jobIdRange, shortJobIds } from '../core/jobs/job-id-prefix.ts';

/** Candidates that an error lists. */
const MAX_LISTED = 10;

interface Candidate {
  jobId: string;
  name: string;
  pipeline: string;
}

/** The only job that starts with `prefix`. `find` returns at most `limit` of those that do. */
export async function onlyJob<Found extends Candidate>(
  prefix: string,
  find: (limit: number) => Promise<Found[]>,
): Promise<Found> {
  if (jobIdRange(prefix) === null)
    throw new RowmillError('JOB_NOT_FOUND', `${JSON.stringify(prefix)} is not the id of a job`);
  const found = await find(MAX_LISTED + 1);
  if (found.length === 1) return found[0]!;
  if (found.length === 0) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${prefix}`);
  const short = shortJobIds(found.map(({ jobId }) => jobId));
  const listed = found
    .slice(0, MAX_LISTED)
    .map(({ jobId, pipeline, name }) => `${short.get(jobId)} (${pipeline}, ${name})`);
  if (found.length > MAX_LISTED) listed.push('and more');
  throw new RowmillError('JOB_NOT_FOUND', `more than one job starts with ${prefix}: ${listed.join(', ')}`, {
    hint: 'Name one of them.',
  });
}
