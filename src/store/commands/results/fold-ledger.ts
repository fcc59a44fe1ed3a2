import type { Executor, Statement } from '../../../platform/database.ts';

// Replaces the ledger rows of one job that are older than $2 by one row per generation, phase and minute with the
// same sums. Rows that another folder holds are skipped, and rows that are already alone in their minute stay
// unchanged. Ledger rows are never updated, so the ctid of a locked row stays valid for the join. One statement
// deletes and inserts, so no reader sees a wrong sum.
const FOLD_LEDGER: Statement = {
  name: 'fold-ledger',
  text: `
    with old as materialized (
      select l.ctid, l.generation, l.phase, date_trunc('minute', l.at) as minute
      from ledger l
      where l.job_id = $1 and l.at < now() - $2::float8 * interval '1 millisecond'
      for update skip locked
    ),
    crowded as (
      select o.ctid, count(*) over (partition by o.generation, o.phase, o.minute) as entries from old o
    ),
    gone as (
      delete from ledger l where l.ctid = any(array(select ctid from crowded where entries > 1)) and l.job_id = $1 returning l.*
    )
    insert into ledger (job_id, entry_id, generation, phase, at, flushes, done, error, not_found, skipped, cancelled,
                        advanced, retried, fenced, bytes, handler_ms, cost, fenced_cost)
    select job_id, gen_random_uuid(), generation, phase, date_trunc('minute', at), sum(flushes), sum(done), sum(error),
           sum(not_found), sum(skipped), sum(cancelled), sum(advanced), sum(retried), sum(fenced), sum(bytes), sum(handler_ms),
           sum(cost), sum(fenced_cost)
    from gone
    group by job_id, generation, phase, date_trunc('minute', at)`,
};

/** Returns the number of minutes written. */
export async function foldLedgerOf(db: Executor, jobId: string, olderThanMs: number): Promise<number> {
  return (await db.run(FOLD_LEDGER, [jobId, olderThanMs])).rowCount ?? 0;
}
