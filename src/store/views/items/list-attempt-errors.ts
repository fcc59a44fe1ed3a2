import type { Executor, Statement } from '../../../platform/database.ts';

// Failed attempts of all items of one generation that were retried. Index: attempt_errors_by_item.
const LIST_ATTEMPT_ERRORS: Statement = {
  name: 'list-attempt-errors',
  text: `
    select seq, phase, attempt, error_class as "errorClass", error,
      (extract(epoch from failed_at) * 1000)::float8 as "failedAtMs"
    from attempt_errors
    where job_id = $1 and generation = $2
    order by seq, phase, attempt`,
};

export interface AttemptError {
  seq: number;
  phase: number;
  attempt: number;
  errorClass: string;
  error: string;
  failedAtMs: number;
}

/** Returns all of them in one result, for jobs as small as in tests. */
export async function listAttemptErrors(
  db: Executor,
  jobId: string,
  generation: number,
): Promise<AttemptError[]> {
  return (await db.run<AttemptError>(LIST_ATTEMPT_ERRORS, [jobId, generation])).rows;
}
