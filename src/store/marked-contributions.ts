// Parts of the statements that take contributions back: which contributions, and their sum per entry. Contributions
// belong to items, and a process that completes an item holds its span, its job or the rest of a deleted job. No
// process waits for a contribution while holding another one's, so contributions need no lock order. Entries are
// shared and are locked in key order.

/**
 * Marks contributions that earlier generations of items w(job_id, seq, generation, phase, last_phase) made in these
 * phases and that still count.
 */
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

/**
 * Sum of the `marked` contributions that count, per entry. Among several epochs, only the last can be the entry's,
 * because epochs only rise.
 */
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

/**
 * Locks the entries whose epoch is still that of the sum. PostgreSQL checks the epoch again after waiting for a lock.
 */
export const LOCK_SUMMED = `
    locked as materialized (
      select e.entry_id, s.total from summed s
      join counter_entries e on e.entry_id = s.entry_id
      where e.epoch = s.epoch
      order by e.counter_id, e.owner_id, e.scope, e.entity
      for update of e
    )`;
