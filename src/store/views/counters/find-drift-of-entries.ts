import type { Executor, Statement } from '../../../platform/database.ts';
import { measuresDiffer } from '../../measure-sums.ts';
import { RECOUNTED_ENTRY } from './find-counter-drift.ts';

// Entries of $1 that differ from the sum of their contributions, of all jobs, or that no longer exist; in one
// snapshot. Index: counter_entries_entry_id_key, counter_contributions_by_entry.
const DRIFTED_ENTRIES: Statement = {
  name: 'find-drift-of-entries-by-id',
  text: `
    select w.entry_id as "entryId", x.counter, x.measures, x.owner_id as "ownerId", x.scope, x.entity, x.stored, x.recounted
    from unnest($1::bigint[]) as w(entry_id)
    left join lateral (
      select c.name as counter, c.measures, e.owner_id, e.scope, e.entity, e.measured as stored, ${RECOUNTED_ENTRY} as recounted
      from counter_entries e join counters c on c.counter_id = e.counter_id
      where e.entry_id = w.entry_id
      offset 0
    ) x on true
    where x.counter is null or ${measuresDiffer('x.stored', 'x.recounted')}`,
};

export type DriftedEntry =
  | { entryId: number; isGone: true }
  | {
      entryId: number;
      isGone: false;
      counter: string;
      measures: string[];
      ownerId: string;
      scope: string;
      entity: string;
      stored: number[];
      recounted: number[];
    };

export async function findDriftOfEntries(db: Executor, entryIds: readonly number[]): Promise<DriftedEntry[]> {
  const { rows } = await db.run<{
    entryId: number;
    counter: string | null;
    measures: string[];
    ownerId: string;
    scope: string;
    entity: string;
    stored: string[];
    recounted: string[];
  }>(DRIFTED_ENTRIES, [entryIds]);
  return rows.map(({ entryId, counter, stored, recounted, ...rest }) =>
    counter === null
      ? { entryId, isGone: true }
      : {
          ...rest,
          entryId,
          isGone: false,
          counter,
          stored: stored.map(Number),
          recounted: recounted.map(Number),
        },
  );
}
