import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';

// Replaces the job's row by a row that tracks the cleanup. After this commit, the job cannot be found.
const REMOVE_JOB: Statement = {
  name: 'remove-job',
  text: `
    with gone as (
      delete from jobs
      where job_id = $1 and state in ${FINISHED}
        and coalesce(finished_at, created_at) <= now() - $2::float8 * interval '1 millisecond'
      returning job_id, source, created_at, item_count, ingest_report
    )
    insert into job_removals (job_id, blob_key, job_created_at, seqs)
    select job_id, source ->> 'blobKey', created_at,
           greatest(item_count, coalesce((ingest_report ->> 'rejected')::bigint, 0))
    from gone
    returning job_id`,
};

// Deletes one range of seqs from every table that grows with the rows of a job, by the first columns of a key or
// index. A range of 10,000 rows with two stage outputs each takes 30 to 65 ms, for the first range as for the last of
// 300,000.
const REMOVE_ROWS: Statement = {
  name: 'remove-job-rows',
  text: `
    with stretch as (
      update job_removals set next_seq = least(seqs, next_seq + $2)
      where job_id = $1 and next_seq < seqs
      returning next_seq - $2 as first, next_seq as upto
    ),
    i as (delete from items where job_id = $1 and seq >= (select first from stretch) and seq < (select upto from stretch)),
    r as (delete from result_rows where job_id = $1 and seq >= (select first from stretch) and seq < (select upto from stretch)),
    b as (delete from result_blocks where job_id = $1 and first_seq >= (select first from stretch) and first_seq < (select upto from stretch)),
    s as (delete from stage_outputs where job_id = $1 and seq >= (select first from stretch) and seq < (select upto from stretch)),
    a as (delete from attempt_errors where job_id = $1 and seq >= (select first from stretch) and seq < (select upto from stretch)),
    t as (delete from trace_blocks where job_id = $1 and first_seq >= (select first from stretch) and first_seq < (select upto from stretch)),
    l as (delete from line_runs where job_id = $1 and first_seq >= (select first from stretch) and first_seq < (select upto from stretch)),
    e as (delete from item_edits where job_id = $1 and seq >= (select first from stretch) and seq < (select upto from stretch)),
    j as (delete from rejected_rows where job_id = $1 and ordinal >= (select first from stretch) and ordinal < (select upto from stretch))
    select upto from stretch`,
};

// Tables that do not grow with the rows.
const REMOVE_REST: Statement = {
  name: 'remove-job-rest',
  text: `
    with sp as (delete from spans where job_id = $1),
    le as (delete from ledger where job_id = $1),
    eg as (delete from error_groups where job_id = $1),
    rc as (delete from result_columns where job_id = $1),
    ge as (delete from generations where job_id = $1),
    su as (delete from summaries where job_id = $1),
    cb as (delete from callbacks where job_id = $1),
    ex as (delete from exports where job_id = $1),
    bu as (delete from budgets where scope = 'job:' || $1::text)
    select`,
};

const END_REMOVAL: Statement = {
  name: 'end-removal',
  text: 'delete from job_removals where job_id = $1',
};

/** Returns false if the job does not exist, is not finished, or finished too recently. */
export async function removeJobRow(db: Executor, jobId: string, retainedMs: number): Promise<boolean> {
  return (await db.run(REMOVE_JOB, [jobId, retainedMs])).rowCount === 1;
}

/** Returns false if no rows are left. */
export async function removeRows(db: Executor, jobId: string, count: number): Promise<boolean> {
  return (await db.run(REMOVE_ROWS, [jobId, count])).rowCount === 1;
}

export async function removeRest(db: Executor, jobId: string): Promise<void> {
  await db.run(REMOVE_REST, [jobId]);
}

export async function endRemoval(db: Executor, jobId: string): Promise<void> {
  await db.run(END_REMOVAL, [jobId]);
}
