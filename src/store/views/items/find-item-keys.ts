import type { Executor, Statement } from '../../../platform/database.ts';

// Which of these keys the job already has, by the unique index items_by_key; one lookup per key.
const FIND_ITEM_KEYS: Statement = {
  name: 'find-item-keys',
  text: `
    select k.item_key, i.seq
    from unnest($2::text[]) as k(item_key)
    cross join lateral (
      select seq from items where job_id = $1 and item_key = k.item_key limit 1
    ) i`,
};

export async function findItemKeys(
  db: Executor,
  jobId: string,
  keys: string[],
): Promise<Map<string, number>> {
  const rows = await db.runArrays(FIND_ITEM_KEYS, [jobId, keys]);
  return new Map(rows.map((row) => [row[0] as string, row[1] as number]));
}
