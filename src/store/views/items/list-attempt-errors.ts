import type { Executor, Statement } from '../../../platform/database.ts';

// Failed attempts of all items of one generation that were retried. Index: attempt_errors_by_item.
const LIST_ATTEMPT_ERRORS: Statement = {
  name: 'list-attempt-errors',
  text: `
    select seq, phase, attempt, error_class, error, extract(epoch from failed_at) * 1000 as failed_at_ms
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
  const { rows } = await db.run<Record<string, never>>(LIST_ATTEMPT_ERRORS, [jobId, generation]);
  return rows.map((row) => ({
    seq: Number(row.seq),
    phase: row.phase!,
    attempt: row.attempt!,
    errorClass: row.error_class!,
    error: row.error!,
    failedAtMs: Number(row.failed_at_ms),
  }));
}
