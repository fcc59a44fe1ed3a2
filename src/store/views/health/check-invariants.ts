// The statements of `rowmill doctor`: each checks one invariant of the design on a live database, in one snapshot,
// and returns a row for each problem.
import type { Executor, Statement } from '../../../platform/database.ts';
import { COMPLETABLE } from '../../job-states.ts';
import { BLOCK_SEQS } from '../results/stored-results.ts';

/** Without jobs whose ingest failed, because their items are given up on purpose. */
const JOBS = `
    j as (
      select job_id, state, generation, item_count, sealed_at, cancelled_at, finalizing_at, finalize_expires_at
      from jobs
      where ($1::uuid is null or job_id = $1) and state <> 'FAILED'
      order by created_at desc limit $2
    )`;

/** The newest end of every item. */
const ENDS = `
    ends as (
      select r.job_id, r.seq, r.generation, r.phase, r.status, r.signature
      from j join results r using (job_id) where j.generation = 1
      union all
      select * from (
        select distinct on (r.job_id, r.seq) r.job_id, r.seq, r.generation, r.phase, r.status, r.signature
        from j join results r using (job_id) where j.generation > 1
        order by r.job_id, r.seq, r.generation desc
      ) r
    )`;

const COVERAGE: Statement = {
  name: 'check-coverage',
  text: `
    with ${JOBS},
    s as (
      select j.job_id, count(*) as spans, sum(s.item_count)::bigint as listed, range_agg(s.items) as covered,
             count(*) filter (where s.generation > j.generation or s.generation <= coalesce(
               (select max(e.generation) from summaries e where e.job_id = j.job_id), 0)) as other_generation,
             count(*) filter (where s.item_count <> (select sum(upper(r) - lower(r)) from unnest(s.items) as u(r))) as miscounted
      from j join spans s using (job_id) group by j.job_id
    ),
    checked as (
      select j.job_id, j.item_count, coalesce(s.listed, 0) as listed, coalesce(s.other_generation, 0) as other_generation,
             coalesce(s.miscounted, 0) as miscounted,
             coalesce((select sum(upper(r) - lower(r)) from unnest(s.covered) as u(r)), 0)::bigint as covered,
             coalesce(upper(s.covered), 0) as highest,
             (select count(*) from items i where i.job_id = j.job_id) as items,
             e.ended, e.ended_before,
             (select count(*) from (
                select b.generation, range_agg(b.items) as items from spans b where b.job_id = j.job_id group by b.generation
              ) b
              join results x on x.job_id = j.job_id and x.generation >= b.generation and b.items @> x.seq) as both_ways
      from j left join s using (job_id)
      cross join lateral (
        select count(distinct r.seq) as ended, count(distinct r.seq) filter (where s.covered @> r.seq) as ended_before
        from results r where r.job_id = j.job_id
      ) e
    )
    select job_id, concat_ws('; ',
        case when items <> item_count then format('%s items are stored, the job counts %s', items, item_count) end,
        case when miscounted > 0 then format('%s spans miscount their items', miscounted) end,
        case when other_generation > 0 then format('%s spans belong to a generation that has ended, or is not open yet', other_generation) end,
        case when listed <> covered then format('%s items are in more than one span', listed - covered) end,
        case when highest > item_count then format('a span names item %s, beyond the last one', highest - 1) end,
        case when both_ways > 0 then format('%s items have a result and are still in a span', both_ways) end,
        case when ended - ended_before + covered < item_count
          then format('%s items have neither a result nor a span', item_count - covered - ended + ended_before) end
      ) as problem
    from checked
    where items <> item_count or miscounted > 0 or other_generation > 0 or listed <> covered or highest > item_count
       or both_ways > 0 or ended - ended_before + covered < item_count`,
};

const ONE_END: Statement = {
  name: 'check-one-end',
  text: `
    with ${JOBS}
    select null::uuid as job_id, format('the unique index %s is missing or invalid, so items could end twice', expected) as problem
    from (values ('result_rows_pkey'), ('result_blocks_one_end'), ('summaries_pkey'), ('items_pkey'), ('spans_pkey'), ('ledger_pkey'))
      as e(expected)
    where not exists (
      select 1 from pg_index x join pg_class c on c.oid = x.indexrelid
      where c.relname = expected and (x.indisunique or x.indisexclusion) and x.indisvalid and pg_table_is_visible(c.oid)
    )
    union all
    select r.job_id, format('%s items have a result as a row and another in a block', count(*))
    from j join result_rows r using (job_id)
    cross join lateral (
      select from result_blocks b
      where b.job_id = r.job_id and b.first_seq > r.seq - ${BLOCK_SEQS} and b.first_seq <= r.seq and b.generation = r.generation
        and b.seqs @> r.seq and split_part(b.lines, E'\\n', (r.seq - b.first_seq + 1)::int) <> ''
    ) b
    group by r.job_id
    union all
    select b.job_id, format('%s blocks of results do not have a line for each of their items', count(*))
    from j join result_blocks b using (job_id)
    cross join lateral string_to_array(b.lines, E'\\n') as l(lines)
    where cardinality(l.lines) <> upper(b.seqs) - b.first_seq or cardinality(b.handler_ms) <> cardinality(l.lines)
       or cardinality(array_remove(l.lines, '')) <> b.item_count
    group by b.job_id`,
};

const TRUTH: Statement = {
  name: 'check-truth',
  text: `
    with ${JOBS}, ${ENDS},
    reopened as (
      select s.job_id, range_agg(s.items) as items from j join spans s using (job_id) where j.generation > 1 group by s.job_id
    ),
    counted as (
      select r.job_id, r.generation, r.phase, count(*) filter (where status = 'DONE') as done, count(*) filter (where status = 'ERROR') as error,
             count(*) filter (where status = 'NOT_FOUND') as not_found, count(*) filter (where status = 'SKIPPED') as skipped,
             count(*) filter (where status = 'CANCELLED') as cancelled
      from ends r left join reopened o using (job_id)
      where not coalesce(o.items @> r.seq, false)
      group by r.job_id, r.generation, r.phase
    ),
    booked as (
      select l.job_id, l.generation, l.phase, sum(done) as done, sum(error) as error, sum(not_found) as not_found, sum(skipped) as skipped,
             sum(cancelled) as cancelled
      from ledger l join j using (job_id) group by l.job_id, l.generation, l.phase
    )
    select coalesce(c.job_id, b.job_id) as job_id,
           format('generation %s, phase %s: the ledger says %s done, %s errors, %s not found, %s skipped, %s cancelled; the results say %s, %s, %s, %s, %s',
             coalesce(c.generation, b.generation), coalesce(c.phase, b.phase), coalesce(b.done, 0), coalesce(b.error, 0), coalesce(b.not_found, 0), coalesce(b.skipped, 0),
             coalesce(b.cancelled, 0), coalesce(c.done, 0), coalesce(c.error, 0), coalesce(c.not_found, 0), coalesce(c.skipped, 0),
             coalesce(c.cancelled, 0)) as problem
    from counted c full join booked b on b.job_id = c.job_id and b.generation = c.generation and b.phase = c.phase
    where (coalesce(c.done, 0), coalesce(c.error, 0), coalesce(c.not_found, 0), coalesce(c.skipped, 0), coalesce(c.cancelled, 0))
       <> (coalesce(b.done, 0), coalesce(b.error, 0), coalesce(b.not_found, 0), coalesce(b.skipped, 0), coalesce(b.cancelled, 0))`,
};

// The two sums add the same parts in a different order, so they are compared to nine digits.
const COST: Statement = {
  name: 'check-cost',
  text: `
    with ${JOBS},
    paid as (
      select r.job_id, r.generation, r.phase, r.cost from j join results r using (job_id) where r.cost is not null
      union all
      select o.job_id, o.generation, o.phase, o.cost from j join stage_outputs o using (job_id) where o.cost is not null
      union all
      select a.job_id, a.generation, a.phase, a.cost from j join attempt_errors a using (job_id) where a.cost is not null
    ),
    counted as (select job_id, generation, phase, sum(cost) as cost from paid group by 1, 2, 3),
    booked as (
      select l.job_id, l.generation, l.phase, sum(l.cost) as cost from ledger l join j using (job_id) group by 1, 2, 3
    )
    select job_id, format('generation %s, phase %s: the ledger says a cost of %s, the calls add up to %s',
        generation, phase, coalesce(b.cost, 0), coalesce(c.cost, 0)) as problem
    from counted c full join booked b using (job_id, generation, phase)
    where abs(coalesce(c.cost, 0) - coalesce(b.cost, 0)) > 1e-9 + 1e-9 * abs(coalesce(c.cost, 0))`,
};

const ERROR_GROUPS: Statement = {
  name: 'check-error-groups',
  text: `
    with ${JOBS}, ${ENDS},
    reopened as (
      select s.job_id, range_agg(s.items) as items from j join spans s using (job_id) where j.generation > 1 group by s.job_id
    ),
    counted as (
      select r.job_id, r.generation, r.phase, r.signature, count(*) as failed
      from ends r left join reopened o using (job_id)
      where r.status <> 'DONE' and r.signature is not null and not coalesce(o.items @> r.seq, false)
      group by 1, 2, 3, 4
    ),
    booked as (
      select g.job_id, g.generation, g.phase, g.signature, g.failed from error_groups g join j using (job_id) where g.failed <> 0
    )
    select job_id, format('generation %s, phase %s, %s: the group says %s items, the results say %s',
        generation, phase, signature, coalesce(b.failed, 0), coalesce(c.failed, 0)) as problem
    from counted c full join booked b using (job_id, generation, phase, signature)
    where coalesce(c.failed, 0) <> coalesce(b.failed, 0)`,
};

const FENCE: Statement = {
  name: 'check-fence',
  text: `
    with ${JOBS}
    select s.job_id, format('token %s is held by %s leases', s.token, count(*)) as problem
    from spans s join j using (job_id) where s.token is not null
    group by s.job_id, s.token having count(*) > 1`,
};

const ONE_SUMMARY: Statement = {
  name: 'check-one-summary',
  text: `
    with ${JOBS}, ${ENDS},
    counted as (
      select r.job_id, count(*) filter (where status = 'DONE') as done, count(*) filter (where status = 'ERROR') as error,
             count(*) filter (where status = 'NOT_FOUND') as not_found, count(*) filter (where status = 'SKIPPED') as skipped,
             count(*) filter (where status = 'CANCELLED') as cancelled
      from j join ends r using (job_id)
      where j.state in ('DONE', 'CANCELLED')
      group by r.job_id
    )
    select j.job_id, format('generation %s has ended and has no summary', g.generation) as problem
    from j cross join lateral generate_series(1, j.generation - 1) as g(generation)
    where not exists (select from summaries s where s.job_id = j.job_id and s.generation = g.generation)
      and not exists (select from generations n where n.job_id = j.job_id and n.generation = g.generation + 1 and n.continues)
    union all
    select j.job_id,
      case when j.state in ('DONE', 'CANCELLED') and s.job_id is null then format('the job is %s and has no summary', lower(j.state::text))
           when j.state not in ('DONE', 'CANCELLED') then 'the job is not done and has a summary'
           when s.outcome <> j.state then format('the job is %s and its summary says %s', j.state, s.outcome)
           else format('the summary says %s, a recount says %s done, %s errors, %s not found, %s skipped, %s cancelled', s.counts,
             coalesce(c.done, 0), coalesce(c.error, 0), coalesce(c.not_found, 0), coalesce(c.skipped, 0), coalesce(c.cancelled, 0)) end as problem
    from j
    left join summaries s on s.job_id = j.job_id and s.generation = j.generation
    left join counted c on c.job_id = j.job_id
    where (j.state in ('DONE', 'CANCELLED')) <> (s.job_id is not null) or s.outcome <> j.state
       or (s.job_id is not null and ((s.counts->>'DONE')::bigint, (s.counts->>'ERROR')::bigint, (s.counts->>'NOT_FOUND')::bigint,
             (s.counts->>'SKIPPED')::bigint, (s.counts->>'CANCELLED')::bigint, s.total)
           <> (coalesce(c.done, 0), coalesce(c.error, 0), coalesce(c.not_found, 0), coalesce(c.skipped, 0), coalesce(c.cancelled, 0), j.item_count))`,
};

const LIVENESS: Statement = {
  name: 'check-liveness',
  text: `
    with ${JOBS},
    alive as (select count(*) as n from workers where heartbeat_at > now() - interval '1 minute')
    select s.job_id, format('%s leases have expired more than $GRACE seconds ago and nobody took them back (%s workers are alive)',
             count(*), (select n from alive)) as problem
    from spans s join j using (job_id)
    where s.worker_id is not null and s.expires_at < now() - interval '$GRACE seconds'
    group by s.job_id
    union all
    select j.job_id, 'the job is sealed, has nothing left to do and was not ended'
    from j
    where j.state in ${COMPLETABLE} and j.sealed_at < now() - interval '$GRACE seconds'
      and not exists (select 1 from spans s where s.job_id = j.job_id)
      and not exists (select 1 from ledger l where l.job_id = j.job_id and l.at > now() - interval '$GRACE seconds')
    union all
    select j.job_id, 'the job was cancelled and has not been brought to its end'
    from j
    where j.state = 'CANCELLING' and j.cancelled_at < now() - interval '$GRACE seconds'
      and not exists (select 1 from ledger l where l.job_id = j.job_id and l.at > now() - interval '$GRACE seconds')
    union all
    select j.job_id, 'the job has been finalizing without progress'
    from j
    where j.state = 'FINALIZING' and j.finalizing_at < now() - interval '$GRACE seconds'
      and (j.finalize_expires_at is null or j.finalize_expires_at < now() - interval '$GRACE seconds')`.replaceAll(
    '$GRACE',
    '30',
  ),
};

// Index: callbacks_dead.
const CALLBACKS: Statement = {
  name: 'check-callbacks',
  text: `
    select job_id, format('the callback %s of generation %s was given up after %s attempts: %s',
             kind, generation, attempts, last_error) as problem
    from callbacks
    where state = 'DEAD' and ($1::uuid is null or job_id = $1)
    order by created_at desc
    limit $2`,
};

export const INVARIANTS = [
  { name: 'coverage', says: 'every item without a result is in exactly one span', statement: COVERAGE },
  { name: 'one end', says: 'an item has at most one result per generation', statement: ONE_END },
  { name: 'truth', says: 'the ledger equals a recount of the results', statement: TRUTH },
  { name: 'cost', says: 'the cost in the ledger equals the sum of the calls', statement: COST },
  {
    name: 'error groups',
    says: 'error groups count the items that failed with them',
    statement: ERROR_GROUPS,
  },
  { name: 'fence', says: 'every lease has its own token', statement: FENCE },
  {
    name: 'one summary',
    says: 'a finished generation has one summary, equal to a recount',
    statement: ONE_SUMMARY,
  },
  { name: 'liveness', says: 'nothing is stuck', statement: LIVENESS },
  { name: 'callbacks', says: 'no callback of a pipeline was given up', statement: CALLBACKS },
] as const;

export interface Problem {
  jobId: string | null;
  problem: string;
}

export async function findProblems(
  db: Executor,
  statement: Statement,
  scope: { jobId: string | null; maxJobs: number },
): Promise<Problem[]> {
  const { rows } = await db.run<{ job_id: string | null; problem: string }>(statement, [
    scope.jobId,
    scope.maxJobs,
  ]);
  return rows.map((row) => ({ jobId: row.job_id, problem: row.problem }));
}
