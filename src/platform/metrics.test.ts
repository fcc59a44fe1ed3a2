// Checks the values of metrics after real runs.
import { expect, test } from 'vitest';
import { claimRequest, jobWithItems } from '../../test/support/job-factory.ts';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { notFound, retryLater, skip } from '../core/items/outcome.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { flushOutcomes } from '../engine/flush/flush-outcomes.ts';
import { sweep } from '../engine/services/sweeper.ts';
import { openRowmill } from '../open-rowmill.ts';
import { definePipeline } from '../pipeline/define-pipeline.ts';
import { resource } from '../pipeline/phase-resources.ts';
import { claimItems } from '../store/commands/spans/claim-items.ts';
import { Events } from './events.ts';
import { createMetrics } from './metrics.ts';
import { newId } from './random.ts';

const database = useTestDatabase();

/** Rolls back the first flush that contains row 7 of any job. */
async function rollBackOnce(): Promise<void> {
  await database.query(`
    drop trigger if exists roll_back_once on result_rows;
    drop sequence if exists rolled_back;
    create sequence rolled_back;
    create or replace function roll_back_once() returns trigger language plpgsql as $$
    begin
      if new.seq = 7 and nextval('rolled_back') = 1 then
        raise exception 'not this time' using errcode = '40001';
      end if;
      return new;
    end $$;
    create trigger roll_back_once before insert on result_rows for each row execute function roll_back_once()`);
}

test('a worker counts items, flushes, rollbacks, retries and the answers of each resource', async () => {
  await rollBackOnce();
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const service = `service-${newId()}`;
  const pipeline = definePipeline({
    name: service,
    resources: { [service]: { concurrency: 100 } },
    phases: [
      {
        name: 'only',
        retry: { throttled: { baseMs: 1, capMs: 1, maxAttempts: 9 }, not_found: { maxAttempts: 1 } },
        resources: [resource(service, ({ n }) => (Number(n) % 2 === 0 ? 'even' : 'odd'))],
        run: (row, { attempt }) => {
          const n = Number(row.n);
          if (n === 0 && attempt === 1) return retryLater({ afterMs: 0 });
          if (n === 2 && attempt === 1) throw Object.assign(new Error('slow down'), { status: 429 });
          if (n === 3) throw new Error('broken for good');
          if (n === 4) return notFound();
          return n === 1 ? skip('one') : { n };
        },
      },
    ],
  });
  const worker = await rowmill.startWorker([pipeline]);
  const finished = worker.events.next('job.finished');
  let batches = 0;
  worker.events.on('ingest.batch', () => {
    batches += 1;
  });
  const lines = Array.from({ length: 50 }, (_, n) => `${n}\n`);
  async function* bytes() {
    yield Buffer.from(`n\n${lines.join('')}`);
  }
  const { jobId } = await rowmill.submitFile(pipeline, { name: `${service}.csv`, bytes: bytes() });
  await finished;
  const answers = (key: string, answer: string) =>
    `resource_calls_total{resource=${service},key=${key},answer=${answer}}`;
  // Answers are reported with the next sync, including the answer of the call that was retried.
  await expect.poll(async () => (await worker.metrics.snapshot())[answers('even', 'ok')]).toBe(26);
  const seen = await worker.metrics.snapshot();
  await worker.stop();
  await rowmill.close();
  expect(seen).toMatchObject({
    items_added_total: 50,
    items_claimed_total: 52,
    items_flushed_total: 52,
    flush_items_sum: 52,
    items_retried_total: 2,
    'items_ended_total{status=DONE}': 47,
    'items_ended_total{status=SKIPPED}': 1,
    'items_ended_total{status=ERROR}': 1,
    'items_ended_total{status=NOT_FOUND}': 1,
    [answers('even', 'throttled')]: 1,
    [answers('odd', 'ok')]: 25,
    [answers('odd', 'throttled')]: 0,
    'jobs_finished_total{outcome=partly}': 1,
    finish_lag_ms_count: 1,
    buffer_fullness: 0,
    buffer_full_total: 0,
    outcomes_fenced_total: 0,
    'flush_rollbacks_total{kind=passing}': 1,
    'database_transactions{end=rollback}': 1,
    ingest_batch_ms_count: batches,
  });
  expect(batches).toBeGreaterThan(0);
  const [{ flushes }] = (await database.query(
    'select sum(flushes)::int as flushes from ledger where job_id = $1',
    [jobId],
  )) as [{ flushes: number }];
  const triggers = Object.entries(seen).filter(([name]) => name.startsWith('flushes_total{trigger='));
  expect(triggers.reduce((sum, [, count]) => sum + count, 0)).toBe(flushes);
  expect(seen).toMatchObject({ flush_items_count: flushes, flush_ms_count: flushes });
  expect(seen['database_transactions{end=commit}']).toBeGreaterThan(flushes);
  expect(seen.pool_wait_ms_count).toBeGreaterThan(flushes);
  for (const name of ['claim_ms', 'flush_ms', 'claim_to_commit_ms', 'pool_wait_ms', 'ingest_batch_ms'])
    for (const quantile of [0.5, 0.95, 0.99])
      expect(seen[`${name}{quantile=${quantile}}`], `${name} at ${quantile}`).toBeGreaterThan(0);
});

test('the buffer fills while the database accepts no flush, and a full buffer is counted', async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: { flushBacklogItems: 10 } });
  const pipeline = definePipeline({
    name: `full-${newId()}`,
    phases: [{ name: 'only', concurrency: 20, run: (row) => row }],
  });
  const worker = await rowmill.startWorker([pipeline]);
  const levels: string[] = [];
  worker.events.on('buffer.changed', ({ to }) => levels.push(to));
  const full = worker.events.next('buffer.changed', ({ to }) => to === 'full');
  const drained = worker.events.next('buffer.changed', ({ to }) => to === 'calm');
  await database.query('begin');
  await database.query('lock table result_rows in exclusive mode');
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: 10 }, (_, n) => ({ n })),
  );
  expect(await full).toMatchObject({ fullness: 1, items: 10 });
  expect(await worker.metrics.snapshot()).toMatchObject({ buffer_fullness: 1, buffer_full_total: 1 });
  await database.query('commit');
  await drained;
  await rowmill.whenFinished(jobId);
  expect(await worker.metrics.snapshot()).toMatchObject({ buffer_fullness: 0, buffer_full_total: 1 });
  expect(levels.slice(0, 2)).toEqual(['high', 'full']);
  await worker.stop();
  await rowmill.close();
});

test('a rescued lease and its fenced outcome are counted', async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: { sweepMs: 50 } });
  const held: (() => void)[] = [];
  let started = (): void => {};
  const running = new Promise<void>((resolve) => {
    started = resolve;
  });
  const pipeline = definePipeline({
    name: `late-${newId()}`,
    phases: [
      {
        name: 'only',
        run: async (row) => {
          if (held.length === 0)
            await new Promise<void>((resolve) => {
              held.push(resolve);
              started();
            });
          return row;
        },
      },
    ],
  });
  const worker = await rowmill.startWorker([pipeline]);
  const rescued = worker.events.next('lease.rescued');
  const jobId = await rowmill.submit(pipeline, [{ n: 1 }]);
  await running;
  await database.query(`update spans set expires_at = now() - interval '1 second' where job_id = $1`, [
    jobId,
  ]);
  expect(await rescued).toMatchObject({ jobId, phase: 0, workerId: worker.workerId, items: 1, failed: 0 });
  held[0]!();
  await rowmill.whenFinished(jobId);
  await expect
    .poll(() => worker.metrics.snapshot())
    .toMatchObject({ leases_rescued_total: 1, outcomes_fenced_total: 1, leases_lost_total: 1 });
  await worker.stop();
  await rowmill.close();
});

/** A sealed job whose last row was flushed by a process that died before it could finish the job. */
async function leftBehind(context: EngineContext): Promise<string> {
  const jobId = await jobWithItems(context, { items: 1 });
  await database.query(
    `update jobs set state = 'RUNNING', created_at = now() - interval '1 hour', sealed_at = now() - interval '1 hour'
     where job_id = $1`,
    [jobId],
  );
  const claim = (await claimItems(context.db, claimRequest(jobId)))!;
  const { generation, phase, spanId, token, attempt, failures, priority } = claim;
  const outcome = { seq: 0, kind: 'terminal', status: 'DONE', json: '{}', failure: null } as const;
  await flushOutcomes(
    context,
    {
      ...{ jobId, generation, phase, workerId: newId(), flushId: newId() },
      leases: [
        { spanId, token, attempt, failures, priority, outcomes: [{ ...outcome, delayMs: 0, handlerMs: 1 }] },
      ],
    },
    false,
  );
  await database.query(`update ledger set at = now() - interval '90 seconds' where job_id = $1`, [jobId]);
  return jobId;
}

test('the finish lag after a crash is measured from the last flush, by whichever process finishes the job', async () => {
  const events = new Events();
  const metrics = createMetrics(events);
  const context = { ...database.context(), events };
  const jobId = await leftBehind(context);
  const finished = events.next('job.finished', (e) => e.jobId === jobId);
  await sweep(context);
  const { lagMs } = await finished;
  const seen = await metrics.snapshot();
  metrics.stop();
  expect(lagMs).toBeGreaterThanOrEqual(90_000);
  expect(lagMs).toBeLessThan(3_600_000);
  expect(seen).toMatchObject({ finish_lag_ms_count: 1, finish_lag_ms_sum: lagMs });
});

test('the finish lag does not include the time for which a job was paused', async () => {
  const context = { ...database.context(), events: new Events() };
  const jobId = await leftBehind(context);
  await database.query(
    `insert into job_events (job_id, owner_id, kind, generation, state) values ($1, 'local', 'job.resumed', 1, 'RUNNING')`,
    [jobId],
  );
  const finished = context.events.next('job.finished', (e) => e.jobId === jobId);
  await sweep(context);
  expect((await finished).lagMs).toBeLessThan(90_000);
});

test('keys of a resource over the limit share one series', async () => {
  const events = new Events();
  const metrics = createMetrics(events);
  for (let n = 0; n < 1000; n += 1)
    events.emit('resource.synced', { name: 'web', key: `host${n}`, ok: 1, throttled: 1, failed: 0 });
  const seen = await metrics.snapshot();
  metrics.stop();
  expect(seen['resource_calls_total{resource=web,key=host0,answer=throttled}']).toBe(1);
  expect(seen['resource_calls_total{resource=web,key=other,answer=throttled}']).toBe(950);
  expect(Object.keys(seen).filter((name) => name.startsWith('resource_calls_total'))).toHaveLength(51 * 3);
});
