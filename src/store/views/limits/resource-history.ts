import type { Executor, Statement } from '../../../platform/database.ts';

// Samples of one key from $3 to $4, in steps of $5 milliseconds that start at $3. Calls are differences of running
// totals, so the sample before the first one is read too. A total that has fallen restarted from 0, because the key
// was deleted and inserted again. Calls before the very first sample are unknown. Index: resource_samples_pkey; a day
// has 5,760 samples.
const RESOURCE_HISTORY: Statement = {
  name: 'resource-history',
  text: `
    with sampled as (
      select s.*, s.calls - b.calls as more_calls, s.throttled - b.throttled as more_throttled
      from (
        select s.*, lag(s.calls) over before as calls_before, lag(s.throttled) over before as throttled_before
        from resource_samples s
        where s.name = $1 and s.key = $2 and s.at < $4::timestamptz
          and s.at >= coalesce((
            select max(p.at) from resource_samples p where p.name = $1 and p.key = $2 and p.at < $3::timestamptz
          ), $3::timestamptz)
        window before as (order by s.at)
      ) s
      cross join lateral (
        select case when s.calls_before is null then s.calls when s.calls_before > s.calls then 0 else s.calls_before end as calls,
          case when s.calls_before is null then s.throttled when s.calls_before > s.calls then 0 else s.throttled_before end as throttled
      ) b
      where s.at >= $3::timestamptz
    )
    select (extract(epoch from date_bin($5::float8 * interval '1 millisecond', s.at, $3::timestamptz)) * 1000)::float8 as "atMs",
      (array_agg(s.concurrency order by s.at desc))[1] as concurrency, (array_agg(s.rate order by s.at desc))[1] as rate,
      max(s.in_use) as "inUse", sum(s.more_calls)::bigint as calls, sum(s.more_throttled)::bigint as throttled
    from sampled s
    group by 1
    order by 1`,
};

export interface ResourceStep {
  atMs: number;
  concurrency: number | null;
  rate: number | null;
  inUse: number;
  calls: number;
  throttled: number;
}

/** Only steps with a sample. */
export async function resourceHistory(
  db: Executor,
  resource: { name: string; key: string },
  { fromMs, toMs, stepMs }: { fromMs: number; toMs: number; stepMs: number },
): Promise<ResourceStep[]> {
  const { rows } = await db.run<ResourceStep & Record<string, unknown>>(RESOURCE_HISTORY, [
    resource.name,
    resource.key,
    new Date(fromMs).toISOString(),
    new Date(toMs).toISOString(),
    stepMs,
  ]);
  return rows;
}
