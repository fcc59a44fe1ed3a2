// Checks one job in tests: recounts it from its raw rows and returns a sentence for each violation. It shares no SQL
// with the store or with `rowmill doctor`, and is written for small jobs. Two invariants cannot be seen in one
// snapshot and are checked by the tests themselves: that a result never changes, and the fence.
import type pg from 'pg';

/** Anything with a `query` method: a client, a pool, a pooled client. */
type Queryable = Pick<pg.ClientBase, 'query'>;

export interface InvariantOptions {
  /** Set it only after a sweep: until then a finalization interrupted by a crash may wait. */
  afterSweep?: boolean;
}

/** Every item of every span of the job: one row per item and span. */
const WAITING = `
  select s.span_id, s.generation, n as seq
  from spans s, unnest(s.items) r, generate_series(lower(r), upper(r) - 1) n
  where s.job_id = $1`;

const STATUSES = ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'] as const;
const FINISHED = `('DONE', 'FAILED', 'CANCELLED')`;

// Each query returns one text column: the violations.
const COVERAGE = [
  `select format('coverage: item %s has no result and is in no span', i.seq)
   from jobs j join items i using (job_id)
   where j.job_id = $1
     and not exists (select from results r where r.job_id = $1 and r.seq = i.seq)
     and not exists (select from (${WAITING}) w where w.seq = i.seq)`,
  `select format('coverage: item %s is in %s spans (%s)', seq, count(*), string_agg(span_id::text, ', ' order by span_id))
   from (${WAITING}) w group by seq having count(*) > 1`,
  `select format('coverage: span %s holds item %s, which has a result of generation %s', w.span_id, w.seq, w.generation)
   from (${WAITING}) w
   join results r on r.job_id = $1 and r.seq = w.seq and r.generation >= w.generation`,
  `select format('coverage: span %s holds item %s, which was never stored', w.span_id, w.seq)
   from (${WAITING}) w
   where not exists (select from items i where i.job_id = $1 and i.seq = w.seq)`,
  `select format('coverage: span %s says item_count %s and holds %s items', s.span_id, s.item_count,
                 (select count(*) from (${WAITING}) w where w.span_id = s.span_id))
   from spans s
   where s.job_id = $1 and s.item_count <> (select count(*) from (${WAITING}) w where w.span_id = s.span_id)`,
  `select format('coverage: span %s is of generation %s, the job of %s', s.span_id, s.generation, j.generation)
   from spans s join jobs j using (job_id)
   where s.job_id = $1 and (s.generation > j.generation
     or exists (select from summaries e where e.job_id = $1 and e.generation >= s.generation))`,
  `select format('coverage: span %s waits at phase %s, the job has %s', s.span_id, s.phase, cardinality(j.phases))
   from spans s join jobs j using (job_id) where s.job_id = $1 and s.phase not between 0 and cardinality(j.phases) - 1`,
  `select format('coverage: the job says item_count %s and has %s items, the last with seq %s', j.item_count, i.stored, i.last)
   from jobs j, (select count(*) as stored, max(seq) as last from items where job_id = $1) i
   where j.job_id = $1 and (j.item_count <> i.stored or coalesce(i.last, -1) <> i.stored - 1)`,
];

const ONE_END = [
  `select format('one end: item %s has %s results of generation %s', seq, count(*), generation)
   from results where job_id = $1 group by seq, generation having count(*) > 1`,
  `select format('one end: there is a result of item %s, which was never stored', r.seq)
   from results r
   where r.job_id = $1 and not exists (select from items i where i.job_id = $1 and i.seq = r.seq)`,
];

/** Every number in a ledger row, and the query that recounts it. */
const RECOUNTS = [
  ...STATUSES.map((status) => ({
    name: status,
    sum: `sum(${status.toLowerCase()})`,
    // Reprocessed items are booked off their generation until they have a new result.
    recount: `select generation, phase from results r where job_id = $1 and status = '${status}'
                and not exists (select from results n where n.job_id = $1 and n.seq = r.seq and n.generation > r.generation)
                and not exists (select from (${WAITING}) w where w.seq = r.seq)`,
  })),
  {
    name: 'advanced',
    sum: 'sum(advanced)',
    recount: 'select generation, phase from stage_outputs where job_id = $1',
  },
  {
    name: 'retried',
    sum: 'sum(retried)',
    recount: 'select generation, phase from attempt_errors where job_id = $1',
  },
];
const TRUTH = RECOUNTS.map(
  ({ name, sum, recount }) => `
    select format('truth: the ledger says %s ${name} in phase %s of generation %s, a recount says %s',
                  coalesce(l.n, 0), phase, generation, coalesce(c.n, 0))
    from (select generation, phase, ${sum} as n from ledger where job_id = $1 group by generation, phase) l
    full join (select generation, phase, count(*) as n from (${recount}) x group by generation, phase) c
      using (generation, phase)
    where coalesce(l.n, 0) <> coalesce(c.n, 0)`,
);

/** Sums of the same parts in another order. */
const COST = [
  `select format('cost: the ledger says %s in phase %s of generation %s, the calls add up to %s',
                 coalesce(l.n, 0), phase, generation, coalesce(c.n, 0))
   from (select generation, phase, sum(cost) as n from ledger where job_id = $1 group by generation, phase) l
   full join (
     select generation, phase, sum(cost) as n
     from (select generation, phase, cost from results where job_id = $1
           union all select generation, phase, cost from stage_outputs where job_id = $1
           union all select generation, phase, cost from attempt_errors where job_id = $1) x
     group by generation, phase) c
     using (generation, phase)
   where abs(coalesce(l.n, 0) - coalesce(c.n, 0)) > 0.000001`,
];

const ONE_SUMMARY = [
  // A generation that was continued while the job was paused shares the summary of the next.
  `select format('one summary: generation %s is finished and has %s summaries', g, count(s.generation))
   from jobs j
   cross join generate_series(1, j.generation - (j.state not in ${FINISHED})::int) g
   left join summaries s on s.job_id = $1 and s.generation = g
   left join generations n on n.job_id = $1 and n.generation = g + 1 and n.continues
   where j.job_id = $1 group by g, n.generation having count(s.generation) <> (n.generation is null)::int`,
  `select format('one summary: generation %s has a summary and the job is %s', s.generation, j.state)
   from jobs j join summaries s using (job_id)
   where j.job_id = $1 and s.generation >= j.generation and j.state not in ${FINISHED}`,
  `select format('one summary: generation %s has %s summaries and %s events of its end', g,
                 (select count(*) from summaries s where s.job_id = $1 and s.generation = g),
                 (select count(*) from job_events e where e.job_id = $1 and e.kind in ('job.finished', 'job.failed') and e.generation = g))
   from jobs j, generate_series(1, j.generation) g
   where j.job_id = $1
     and not exists (select from generations n where n.job_id = $1 and n.generation = g + 1 and n.continues)
     and (select count(*) from summaries s where s.job_id = $1 and s.generation = g)
      <> (select count(*) from job_events e where e.job_id = $1 and e.kind in ('job.finished', 'job.failed') and e.generation = g)`,
  `select format('one summary: generation %s says total %s of %s items', s.generation, s.total,
                 (select count(distinct seq) from results r where r.job_id = $1 and r.generation <= s.generation))
   from summaries s
   where s.job_id = $1
     and s.total <> (select count(distinct seq) from results r where r.job_id = $1 and r.generation <= s.generation)`,
  `select format('one summary: generation %s was opened with %s items and ended with %s of them', g.generation, g.selected, n.ended)
   from generations g join summaries s using (job_id, generation)
   cross join lateral (
     select count(*) as ended from results r where r.job_id = $1 and r.generation = g.generation
       and exists (select from results o where o.job_id = $1 and o.seq = r.seq and o.generation < g.generation)) n
   where g.job_id = $1 and (s.outcome = 'DONE' and n.ended <> g.selected or n.ended > g.selected)`,
  `select format('one summary: the diff of generation %s says %s reprocessed, a recount says %s', s.generation, s.diff->>'reprocessed', n.ended)
   from summaries s
   cross join lateral (
     select count(*) as ended from results r where r.job_id = $1 and r.generation = s.generation
       and exists (select from results o where o.job_id = $1 and o.seq = r.seq and o.generation < s.generation)) n
   where s.job_id = $1 and s.generation > 1 and (s.diff->>'reprocessed')::bigint is distinct from n.ended`,
  `select format('one summary: the job is %s and has spans', j.state)
   from jobs j
   where j.job_id = $1 and j.state in ('FINALIZING', 'DONE', 'FAILED', 'CANCELLED') and exists (select from spans where job_id = $1)`,
  `select format('one summary: the job is %s and its summary says %s', j.state, s.outcome)
   from jobs j join summaries s on s.job_id = j.job_id and s.generation = j.generation
   where j.job_id = $1 and s.outcome <> j.state`,
  ...STATUSES.map(
    (status) => `
    select format('one summary: generation %s says %s ${status}, a recount says %s', s.generation,
                  s.counts->>'${status}', c.n)
    from summaries s
    cross join lateral (
      select count(*) as n from results r
      where r.job_id = $1 and r.generation <= s.generation and r.status = '${status}'
        and not exists (select from results n where n.job_id = $1 and n.seq = r.seq
                          and n.generation > r.generation and n.generation <= s.generation)) c
    where s.job_id = $1 and (s.counts->>'${status}')::bigint is distinct from c.n`,
  ),
];

const LIVENESS = [
  `select format('liveness: the job is sealed, has no span, and is still %s after a sweep', j.state)
   from jobs j
   where j.job_id = $1 and j.sealed_at is not null and j.state in ('QUEUED', 'RUNNING')
     and not exists (select from spans where job_id = $1)`,
  `select 'liveness: the job was cancelled and is still CANCELLING after a sweep'
   from jobs j where j.job_id = $1 and j.state = 'CANCELLING'`,
];

const ALWAYS = [...COVERAGE, ...ONE_END, ...TRUTH, ...COST, ...ONE_SUMMARY];

/** One statement, so all checks see one snapshot. Returns nothing if every invariant holds. */
export async function checkInvariants(
  client: Queryable,
  jobId: string,
  { afterSweep = false }: InvariantOptions = {},
): Promise<string[]> {
  const checks = afterSweep ? [...ALWAYS, ...LIVENESS] : ALWAYS;
  const { rows } = await client.query<{ violation: string }>({
    name: afterSweep ? 'invariants-after-sweep' : 'invariants',
    text: `select violation from (${checks.map((check) => `(${check})`).join('\nunion all\n')}) v(violation) order by 1`,
    values: [jobId],
  });
  return rows.map((row) => row.violation);
}
