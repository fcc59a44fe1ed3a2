// Finds a job of the database by its id or the first characters of its id.
import { contextOf, type Rowmill } from '../open-rowmill.ts';
import { findJobsByPrefix, type Job } from '../store/views/jobs/read-job.ts';
import { onlyJob } from './only-job.ts';

export function findJob(rowmill: Rowmill, prefix: string): Promise<Job> {
  return onlyJob(prefix, (limit) => findJobsByPrefix(contextOf(rowmill).db, prefix, null, limit));
}
