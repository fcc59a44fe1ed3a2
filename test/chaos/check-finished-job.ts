// Checks that must hold for every finished job, whatever happened before.
import { expect } from 'vitest';
import type { TestDatabase } from '../support/test-database.ts';

export interface ExpectedEnd {
  /** Items per status; statuses not named must be absent. */
  counts: Record<string, number>;
  state?: 'DONE' | 'CANCELLED';
}

export async function checkFinishedJob(
  database: Pick<TestDatabase, 'query'>,
  jobId: string,
  expected: ExpectedEnd,
): Promise<void> {
  const one = async <Row extends Record<string, unknown>>(text: string): Promise<Row> =>
    (await database.query<Row>(text, [jobId]))[0]!;

  const job = await one<{ state: string; item_count: string }>(
    'select state, item_count::text from jobs where job_id = $1',
  );
  const total = Object.values(expected.counts).reduce((sum, count) => sum + count, 0);
  expect(job).toEqual({ state: expected.state ?? 'DONE', item_count: String(total) });

  const spans = await database.query('select * from spans where job_id = $1', [jobId]);
  expect(spans, 'spans left over').toEqual([]);

  const ends = await one<{ items: number; ended: number; results: number }>(`
    select count(*)::int as items, count(r.seq)::int as ended,
           (select count(*)::int from results where job_id = $1) as results
    from items i left join results r on r.job_id = i.job_id and r.seq = i.seq and r.generation = 1
    where i.job_id = $1`);
  expect(ends, 'one result per item').toEqual({ items: total, ended: total, results: total });

  const recount = await database.query<{ status: string; count: number }>(
    'select status::text, count(*)::int as count from results where job_id = $1 group by 1',
    [jobId],
  );
  const counted = Object.fromEntries(recount.map((row) => [row.status, row.count]));
  expect(counted, 'results per status').toEqual(withoutZeros(expected.counts));

  const ledger = await one<Record<string, number>>(`
    select sum(done)::int as "DONE", sum(error)::int as "ERROR", sum(not_found)::int as "NOT_FOUND",
           sum(skipped)::int as "SKIPPED", sum(cancelled)::int as "CANCELLED"
    from ledger where job_id = $1`);
  expect(withoutZeros(ledger), 'the ledger equals a recount').toEqual(counted);

  const summaries = await database.query<{ counts: Record<string, number>; total: string; outcome: string }>(
    'select counts, total::text, outcome from summaries where job_id = $1',
    [jobId],
  );
  expect(summaries, 'one summary').toHaveLength(1);
  expect(withoutZeros(summaries[0]!.counts), 'the summary equals a recount').toEqual(counted);
  expect(summaries[0]).toMatchObject({ total: String(total), outcome: expected.state ?? 'DONE' });

  const told = await database.query(`select 1 from job_events where job_id = $1 and kind = 'job.finished'`, [
    jobId,
  ]);
  expect(told, 'one event').toHaveLength(1);
}

/** Charged attempts of the results. A crash must not charge the items of other workers. */
export async function attemptsOf(database: Pick<TestDatabase, 'query'>, jobId: string): Promise<number[]> {
  const rows = await database.query<{ attempt: number }>(
    'select distinct attempt from results where job_id = $1 order by 1',
    [jobId],
  );
  return rows.map((row) => row.attempt);
}

export async function heldItems(
  database: Pick<TestDatabase, 'query'>,
  jobId: string,
  workerId: string | null = null,
): Promise<number> {
  const rows = await database.query<{ held: number }>(
    `select coalesce(sum(item_count), 0)::int as held from spans
     where job_id = $1 and worker_id is not null and ($2::uuid is null or worker_id = $2)`,
    [jobId, workerId],
  );
  return rows[0]!.held;
}

function withoutZeros(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}
