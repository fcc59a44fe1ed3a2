import type { Executor, Statement } from '../../../platform/database.ts';

// Whether a job has exactly these items from a position on, without emitted ones. If nothing was emitted, position
// and seq are equal, and the primary key leads to the first item; otherwise the items before it are skipped. One
// comparison of two arrays, because a join would depend on estimates.
const HAS_ITEMS: Statement = {
  name: 'has-items',
  text: `
    with job as materialized (
      select coalesce((ingest_report ->> 'emitted')::bigint, 0) > 0 as has_emitted from jobs where job_id = $1
    )
    select coalesce(jsonb_agg(i.input order by i.seq), '[]') = $3::jsonb as same
    from (
      select seq, input from items
      where job_id = $1 and parent_seq is null
        and seq >= (select case when has_emitted then 0 else $2::bigint end from job)
      order by seq
      offset (select case when has_emitted then $2::bigint else 0 end from job)
      limit $4::bigint
    ) i`,
};

/** `inputs` are JSON texts. */
export async function hasItems(
  db: Executor,
  jobId: string,
  from: number,
  inputs: readonly string[],
): Promise<boolean> {
  const values = [jobId, from, `[${inputs.join(',')}]`, inputs.length];
  const { rows } = await db.run<{ same: boolean }>(HAS_ITEMS, values);
  return rows[0]?.same === true;
}
