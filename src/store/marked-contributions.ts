// Parts of the statements after which contributions no longer count: which of them, and what they add up to per entry.
// Contributions are rows of items, and whoever ends an item holds its span, its job or what is left of it: nobody waits for
// such a row while holding another's, so no order is needed among them. Entries are shared, and are locked in key order.

/** Of items w(job_id, seq, generation, phase, last_phase): what earlier generations counted in these phases, and still counts. */
// Index: counter_contributions_pkey, once to find and once to mark.
export const markTakenBack = (items: string): string => `
    picked as materialized (
      select w.job_id, w.generation as taken_back_by, c.seq, c.generation, c.phase, c.entry_id
      from ${items}
      cross join lateral (
        select c.seq, c.generation, c.phase, c.entry_id from counter_contributions c
        where c.job_id = w.job_id and c.seq = w.seq and c.generation < w.generation
          and c.phase >= w.phase and c.phase <= w.last_phase and c.taken_back_by is null
        offset 0
      ) c
    ),
    marked as (
      update counter_contributions c set taken_back_by = p.taken_back_by
      from picked p
      where c.job_id = p.job_id and c.seq = p.seq and c.generation = p.generation and c.phase = p.phase and c.entry_id = p.entry_id
      returning c.entry_id, c.epoch, c.measured, true as counts
    )`;

/** What is `marked` and counts, per entry. Of several epochs only the last can be the entry's: they only ever rise. */
export const SUM_MARKED = `
    summed as (
      select distinct on (s.entry_id) s.entry_id, s.epoch, array_agg(s.v order by s.o) as total
      from (
        select m.entry_id, m.epoch, u.o, sum(u.v)::bigint as v
        from marked m cross join lateral unnest(m.measured) with ordinality as u(v, o)
        where m.counts
        group by m.entry_id, m.epoch, u.o
      ) s
      group by s.entry_id, s.epoch
      order by s.entry_id, s.epoch desc
    )`;

/** The entries whose epoch is still that of the sum. It is looked at again after the wait for a lock. */
export const LOCK_SUMMED = `
    locked as materialized (
      select e.entry_id, s.total from summed s
      join counter_entries e on e.entry_id = s.entry_id
      where e.epoch = s.epoch
      order by e.counter_id, e.owner_id, e.scope, e.entity
      for update of e
    )`;
