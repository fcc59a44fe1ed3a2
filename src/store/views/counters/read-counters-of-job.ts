import type { Executor, Statement } from '../../../platform/database.ts';

// Contributions of a job to counters: the sum of those that count, per entry. Index: counter_contributions_pkey by
// its first column, counter_entries_entry_id_key; reads all contributions of the job.
const READ_COUNTERS_OF_JOB: Statement = {
  name: 'read-counters-of-job',
  text: `
    select c.name as counter, e.scope, e.entity, c.measures, s.measured
    from (
      select x.entry_id, array_agg(x.v order by x.o) as measured
      from (
        select k.entry_id, u.o, (sum(u.v) filter (where k.taken_back_by is null and k.epoch = e.epoch))::bigint as v
        from counter_contributions k
        join counter_entries e on e.entry_id = k.entry_id
        cross join lateral unnest(k.measured) with ordinality as u(v, o)
        where k.job_id = $1
        group by k.entry_id, u.o
      ) x
      group by x.entry_id
    ) s
    join counter_entries e on e.entry_id = s.entry_id
    join counters c on c.counter_id = e.counter_id
    order by c.name, e.scope, e.entity`,
};

export interface CountedByJob {
  counter: string;
  scope: string;
  entity: string;
  measured: Record<string, number>;
}

/** One row per (scope, entity) that the job contributed to. */
export async function readCountersOfJob(db: Executor, jobId: string): Promise<CountedByJob[]> {
  const { rows } = await db.run<{
    counter: string;
    scope: string;
    entity: string;
    measures: string[];
    measured: (string | null)[];
  }>(READ_COUNTERS_OF_JOB, [jobId]);
  return rows.map(({ counter, scope, entity, measures, measured }) => ({
    counter,
    scope,
    entity,
    measured: Object.fromEntries(measures.map((measure, at) => [measure, Number(measured[at] ?? 0)])),
  }));
}
