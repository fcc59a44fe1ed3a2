import type { Executor, Statement } from '../../../platform/database.ts';
import { LOCK_SUMMED, markTakenBack, SUM_MARKED } from '../../marked-contributions.ts';
import { subtractMeasures } from '../../measure-sums.ts';
import { ROLL_UP_CHANGES } from './roll-up-changes.ts';

// For items of any jobs that get a result without a call: contributions of earlier generations from their phase on no
// longer count. A flush does the same in the statement that adds contributions (change-entries.ts).
//
// Index: counter_contributions_pkey, counter_entries_entry_id_key.
const TAKE_BACK: Statement = {
  name: 'take-back-contributions',
  text: `
    with ${markTakenBack(`(
        select w.job_id, w.seq, w.generation, w.phase, 32767::smallint as last_phase
        from unnest($1::uuid[], $2::bigint[], $3::int[], $4::smallint[]) as w(job_id, seq, generation, phase)
      ) w`)},
    ${SUM_MARKED},
    ${LOCK_SUMMED},
    changed as (
      update counter_entries e
      set measured = ${subtractMeasures('e.measured', 'l.total')}, change = ${subtractMeasures(`'{}'::bigint[]`, 'l.total')}, updated_at = now()
      from locked l
      where e.entry_id = l.entry_id
      returning e.counter_id, e.owner_id, e.scope, e.entity, e.change
    ),
    ${ROLL_UP_CHANGES}
    select count(*) as taken from marked`,
};

export interface EndedItem {
  jobId: string;
  seq: number;
  /** Generation of the new result. */
  generation: number;
  /** Phase of the new result. */
  phase: number;
}

/** Returns the number of contributions that no longer count. */
export async function takeBackContributions(db: Executor, items: readonly EndedItem[]): Promise<number> {
  const { rows } = await db.run<{ taken: number }>(TAKE_BACK, [
    items.map(({ jobId }) => jobId),
    items.map(({ seq }) => seq),
    items.map(({ generation }) => generation),
    items.map(({ phase }) => phase),
  ]);
  return rows[0]!.taken;
}
