import type { Executor, Statement } from '../../../platform/database.ts';

/** Steps of a trend, a power of two: half of them remain when the step length doubles. */
const TREND_STEPS = 32;

// Rows are locked in signature order, after the lease rows, so concurrent flushes wait for each other and do not
// deadlock.
//
// The trend counts by steps from first_seen on. `due` is the current step. If it is past the last one, steps become
// 2^shift times as long, and neighbours are added up. That happens whenever the age of the group doubles; otherwise
// one number is changed or appended. Measured: 7 us per group of a flush, on top of 13 us for the statement without
// it.
const UPSERT_ERROR_GROUPS: Statement = {
  name: 'upsert-error-groups',
  text: `
    insert into error_groups as g (job_id, generation, phase, signature, error_class, sample, sample_seq, occurrences, failed, trend)
    select $1, $2, $3, n.signature, n.error_class, n.sample, n.sample_seq, n.occurrences, n.failed, array[n.occurrences]
    from unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[])
      as n(signature, error_class, sample, sample_seq, occurrences, failed)
    order by n.signature
    on conflict (job_id, generation, phase, signature)
    do update set occurrences = g.occurrences + excluded.occurrences, failed = g.failed + excluded.failed, last_seen = now(),
      (trend, trend_step_s) = (
        select case
            when t.shift > 0 then array(
              select coalesce(sum(u.count), 0)::bigint + case when b.step = t.due >> t.shift then excluded.occurrences else 0 end
              from generate_series(0, t.due >> t.shift) as b(step)
              left join unnest(g.trend) with ordinality as u(count, place) on (u.place - 1) >> t.shift = b.step
              group by b.step order by b.step)
            when t.due < cardinality(g.trend)
              then g.trend[:t.due] || g.trend[t.due + 1] + excluded.occurrences || g.trend[t.due + 2:]
            else g.trend || array_fill(0::bigint, array[t.due - cardinality(g.trend)]) || excluded.occurrences
          end,
          g.trend_step_s << t.shift
        from (
          select d.due, greatest(0, length(ltrim(d.due::bit(32)::text, '0')) - ${Math.log2(TREND_STEPS)}) as shift
          from (
            select greatest(0, least(2147483647, floor(extract(epoch from now() - g.first_seen) / g.trend_step_s)))::int as due
          ) d
        ) t
      )`,
};

export interface ErrorGroupDelta {
  signature: string;
  errorClass: string;
  sample: string;
  sampleSeq: number;
  /** Failed attempts, retried or not. */
  occurrences: number;
  /** Items that failed for good with this error. */
  failed: number;
}

/** Counts one more error of a signature. */
export function addToGroup(
  groups: Map<string, ErrorGroupDelta>,
  signature: string,
  failure: { class: string; message: string },
  seq: number,
  isFinal: boolean,
): void {
  const group = groups.get(signature);
  if (group) {
    group.occurrences += 1;
    if (isFinal) group.failed += 1;
  } else {
    groups.set(signature, {
      signature,
      errorClass: failure.class,
      sample: failure.message.slice(0, 1000).toWellFormed(),
      sampleSeq: seq,
      occurrences: 1,
      failed: isFinal ? 1 : 0,
    });
  }
}

export async function upsertErrorGroups(
  db: Executor,
  jobId: string,
  generation: number,
  phase: number,
  groups: ErrorGroupDelta[],
): Promise<void> {
  if (groups.length === 0) return;
  await db.run(UPSERT_ERROR_GROUPS, [
    jobId,
    generation,
    phase,
    groups.map((group) => group.signature),
    groups.map((group) => group.errorClass),
    groups.map((group) => group.sample),
    groups.map((group) => group.sampleSeq),
    groups.map((group) => group.occurrences),
    groups.map((group) => group.failed),
  ]);
}
