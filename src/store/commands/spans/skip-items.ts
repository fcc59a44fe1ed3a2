import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { newestOf } from '../../views/results/stored-results.ts';

const booked = (status: ItemStatus): string =>
  `coalesce(sum(b.items) filter (where b.status = '${status}'), 0)`;

// Skips selected items of a finished job in a new generation ($2) without running them. The newest result of each, if
// it has one of the statuses $4, is subtracted from the ledger and its error group, under the generation and phase it
// was added to; a SKIPPED result is written and added. Runs under the lock of the job's row, on a job whose
// generation was just opened, so nothing else writes its results or spans. No attempt is made, so none is counted.
// Index: result_rows_pkey, result_blocks_pkey.
const SKIP_ITEMS: Statement = {
  name: 'skip-items',
  text: `
    with taken as materialized (
      select r.* from unnest($3::bigint[]) as w(seq)
      cross join lateral ${newestOf('w.seq', 'r.generation < $2')} r
      where r.status = any($4::item_status[])
    ),
    ended as (
      insert into result_rows (job_id, seq, generation, phase, attempt, status, result)
      select $1, t.seq, $2, t.phase, 0, 'SKIPPED', $5::jsonb from taken t
    ),
    booked as (
      insert into ledger (job_id, entry_id, generation, phase, flushes, done, error, not_found, skipped, cancelled)
      select $1, gen_random_uuid(), b.generation, b.phase, 0, ${booked('DONE')}, ${booked('ERROR')}, ${booked('NOT_FOUND')},
             ${booked('SKIPPED')}, ${booked('CANCELLED')}
      from (
        select generation, phase, status, -count(*) as items from taken group by 1, 2, 3
        union all
        select $2, phase, 'SKIPPED', count(*) from taken group by phase
      ) b
      group by b.generation, b.phase
    ),
    grouped as (
      update error_groups g set failed = g.failed - t.items
      from (
        select generation, phase, signature, count(*) as items from taken where signature is not null group by 1, 2, 3
      ) t
      where g.job_id = $1 and g.generation = t.generation and g.phase = t.phase and g.signature = t.signature
    )
    select seq, phase from taken`,
};

export interface SkipRequest {
  jobId: string;
  generation: number;
  seqs: readonly number[];
  statuses: readonly ItemStatus[];
  /** The result of each item: {"reason": "..."}. */
  resultJson: string;
}

export interface SkippedItem {
  seq: number;
  /** Phase of the earlier result. */
  phase: number;
}

export async function skipItems(db: Executor, request: SkipRequest): Promise<SkippedItem[]> {
  const { jobId, generation, seqs, statuses, resultJson } = request;
  const rows = await db.runArrays(SKIP_ITEMS, [jobId, generation, seqs, statuses, resultJson]);
  return rows.map(([seq, phase]) => ({ seq: seq as number, phase: phase as number }));
}
