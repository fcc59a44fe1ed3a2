import type { Executor, Statement } from '../../../platform/database.ts';

const FIND_LEDGER_ENTRY: Statement = {
  name: 'find-ledger-entry',
  text: 'select 1 from ledger where job_id = $1 and entry_id = $2',
};
// Jobs with more than 10 unfolded ledger rows.
const FIND_FOLDABLE: Statement = {
  name: 'find-foldable',
  text: `
    select job_id from ledger
    where at < now() - $1::float8 * interval '1 millisecond' and flushes = 1
    group by job_id having count(*) > 10
    limit 100`,
};

export async function ledgerHasEntry(db: Executor, jobId: string, entryId: string): Promise<boolean> {
  return (await db.run(FIND_LEDGER_ENTRY, [jobId, entryId])).rowCount === 1;
}

export async function findFoldableJobs(db: Executor, olderThanMs: number): Promise<string[]> {
  return (await db.run<{ job_id: string }>(FIND_FOLDABLE, [olderThanMs])).rows.map((row) => row.job_id);
}
