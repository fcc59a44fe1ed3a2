import type { Executor, Statement } from '../../../platform/database.ts';
import { LOCK_SUMMED, SUM_MARKED } from '../../marked-contributions.ts';
import { addMeasures } from '../../measure-sums.ts';

// Deletes up to $2 contributions of a deleted job. Their amount stays in the entries, as settled: deleting a job does
// not change counters. Index: counter_contributions_pkey, counter_entries_entry_id_key.
const SETTLE: Statement = {
  name: 'settle-contributions',
  text: `
    with picked as materialized (
      select c.seq, c.generation, c.phase, c.entry_id from counter_contributions c
      where c.job_id = $1
      order by c.seq, c.generation, c.phase, c.entry_id
      limit $2
    ),
    marked as (
      delete from counter_contributions c
      using picked p
      where c.job_id = $1 and c.seq = p.seq and c.generation = p.generation and c.phase = p.phase and c.entry_id = p.entry_id
      returning c.entry_id, c.epoch, c.measured, c.taken_back_by is null as counts
    ),
    ${SUM_MARKED},
    ${LOCK_SUMMED},
    settled as (
      update counter_entries e set settled = ${addMeasures('e.settled', 'l.total')}
      from locked l
      where e.entry_id = l.entry_id
    )
    select count(*) as gone from marked`,
};

/** Returns the number of deleted contributions. */
export async function settleContributions(db: Executor, jobId: string, maxRows: number): Promise<number> {
  const { rows } = await db.run<{ gone: number }>(SETTLE, [jobId, maxRows]);
  return rows[0]!.gone;
}
