import type { Executor, Statement } from '../../../platform/database.ts';

// The counter entries that items $2 to $3 of a job contribute to. Index: counter_contributions_pkey.
const ENTRIES_OF_ITEMS: Statement = {
  name: 'list-entries-of-items',
  text: `
    select distinct entry_id from counter_contributions
    where job_id = $1 and seq >= $2 and seq < $3 and taken_back_by is null`,
};

export async function listEntriesOfItems(
  db: Executor,
  jobId: string,
  fromSeq: number,
  toSeq: number,
): Promise<number[]> {
  const rows = await db.runArrays(ENTRIES_OF_ITEMS, [jobId, fromSeq, toSeq]);
  return rows.map(([entryId]) => entryId as number);
}
