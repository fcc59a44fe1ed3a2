import { formatRanges, type SeqRanges } from '../../core/seq-ranges.ts';
import type { Executor, Statement } from '../../platform/database.ts';
import { addMeasures, subtractMeasures } from '../measure-sums.ts';
import { ROLL_UP_CHANGES } from './roll-up-changes.ts';

// Contributions `marked` by this statement, summed per entry, and the entries whose epoch is still theirs, locked in key
// order. The epoch is looked at again after the wait for a lock: what a replacement has voided meanwhile changes nothing.
const LOCKED = `
    summed as (
      select s.entry_id, s.epoch, array_agg(s.v order by s.o) as total
      from (
        select m.entry_id, m.epoch, u.o, sum(u.v)::bigint as v
        from marked m cross join lateral unnest(m.measured) with ordinality as u(v, o)
        where m.counts
        group by m.entry_id, m.epoch, u.o
      ) s
      group by s.entry_id, s.epoch
    ),
    locked as materialized (
      select e.entry_id, s.total from summed s
      join counter_entries e on e.entry_id = s.entry_id
      where e.epoch = s.epoch
      order by e.counter_id, e.owner_id, e.scope, e.entity
      for update of e
    )`;

const changedBy = (change: (measured: string, total: string) => string): string => `
    changed as (
      update counter_entries e
      set measured = ${change('e.measured', 'l.total')}, change = ${change(`'{}'::bigint[]`, 'l.total')}, updated_at = now()
      from locked l
      where e.entry_id = l.entry_id
      returning e.counter_id, e.owner_id, e.scope, e.entity, e.change
    )`;

/** Of jobs that count nothing no item is looked at. */
const COUNTS = 'exists (select from counter_contributions x where x.job_id = $1)';

// The items that generation $2 has just opened wait in its spans; what they contributed in the phases that run again no
// longer counts. What came before these phases stays, with the outputs that are used again.
//
// Index: spans_pkey, then counter_contributions_pkey by ranges of seqs, counter_entries_entry_id_key.
const TAKE_BACK: Statement = {
  name: 'take-back-contributions',
  text: `
    with picked as materialized (
      select c.seq, c.generation, c.phase, c.entry_id
      from spans s
      cross join lateral unnest(s.items) as u(r)
      cross join lateral (
        select c.seq, c.generation, c.phase, c.entry_id from counter_contributions c
        where c.job_id = $1 and c.seq >= lower(u.r) and c.seq < upper(u.r) and c.phase >= s.phase and c.taken_back_by is null
        offset 0
      ) c
      where s.job_id = $1 and s.generation = $2 and ${COUNTS}
    ),
    marked as (
      update counter_contributions c set taken_back_by = $2
      from picked p
      where c.job_id = $1 and c.seq = p.seq and c.generation = p.generation and c.phase = p.phase and c.entry_id = p.entry_id
      returning c.entry_id, c.epoch, c.measured, true as counts
    ),
    ${LOCKED},
    ${changedBy(subtractMeasures)},
    ${ROLL_UP_CHANGES}
    select count(*) as taken from marked`,
};

// Items of generation $2 that were cancelled keep the results they had; what these contributed counts again, from the
// phase on at which each was waiting. $3 are the phases, $4 the items.
const PUT_BACK: Statement = {
  name: 'put-back-contributions',
  text: `
    with picked as materialized (
      select c.seq, c.generation, c.phase, c.entry_id
      from unnest($3::smallint[], $4::int8multirange[]) as w(phase, items)
      cross join lateral unnest(w.items) as u(r)
      cross join lateral (
        select c.seq, c.generation, c.phase, c.entry_id from counter_contributions c
        where c.job_id = $1 and c.seq >= lower(u.r) and c.seq < upper(u.r) and c.phase >= w.phase and c.taken_back_by = $2
        offset 0
      ) c
      where ${COUNTS}
    ),
    marked as (
      update counter_contributions c set taken_back_by = null
      from picked p
      where c.job_id = $1 and c.seq = p.seq and c.generation = p.generation and c.phase = p.phase and c.entry_id = p.entry_id
      returning c.entry_id, c.epoch, c.measured, true as counts
    ),
    ${LOCKED},
    ${changedBy(addMeasures)},
    ${ROLL_UP_CHANGES}
    select count(*) as taken from marked`,
};

// A job that is removed takes up to $2 of its contributions with it. What they amounted to stays in the entries, as
// settled: counters do not forget what was done because its job is cleaned up.
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
    ${LOCKED},
    settled as (
      update counter_entries e set settled = ${addMeasures('e.settled', 'l.total')}
      from locked l
      where e.entry_id = l.entry_id
    )
    select count(*) as taken from marked`,
};

/** The number of contributions that no longer count. */
export function takeBackContributions(db: Executor, jobId: string, generation: number): Promise<number> {
  return taken(db, TAKE_BACK, [jobId, generation]);
}

/** The number of contributions that count again. */
export function putBackContributions(
  db: Executor,
  jobId: string,
  generation: number,
  cancelled: readonly { phase: number; items: SeqRanges }[],
): Promise<number> {
  return taken(db, PUT_BACK, [
    jobId,
    generation,
    cancelled.map(({ phase }) => phase),
    cancelled.map(({ items }) => formatRanges(items)),
  ]);
}

/** The number of contributions that are gone. */
export function settleContributions(db: Executor, jobId: string, maxRows: number): Promise<number> {
  return taken(db, SETTLE, [jobId, maxRows]);
}

async function taken(db: Executor, statement: Statement, values: unknown[]): Promise<number> {
  const { rows } = await db.run<{ taken: number }>(statement, values);
  return rows[0]!.taken;
}
