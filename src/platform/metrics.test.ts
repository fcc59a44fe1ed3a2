import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { retryLater, skip } from '../core/outcome.ts';
import { openRowmill } from '../open-rowmill.ts';
import { definePipeline } from '../worker/define-pipeline.ts';
import { resource } from '../worker/phase-resources.ts';
import { Events } from './events.ts';
import { createMetrics } from './metrics.ts';

const database = useTestDatabase();

test('a worker counts what it did: items, flushes, transactions, retries, and how long it took', async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const pipeline = definePipeline({
    name: 'counted',
    resources: { service: { concurrency: 100 } },
    phases: [
      {
        name: 'only',
        run: (row, { attempt }) => {
          if (row.n === 0 && attempt === 1) return retryLater({ afterMs: 0 });
          return row.n === 1 ? skip('one') : { n: row.n };
        },
        resources: [resource('service')],
      },
    ],
  });
  const worker = await rowmill.startWorker([pipeline]);
  const finished = worker.events.next('job.finished');
  await rowmill.submit(
    pipeline,
    Array.from({ length: 50 }, (_, n) => ({ n })),
  );
  await finished;
  // What calls were answered is told with the next sync; the one that asked for another try was answered as well.
  const answered = async () =>
    (await worker.metrics.snapshot())['resource_calls_total{resource=service,answer=ok}'];
  await expect.poll(answered).toBe(51);
  const seen = await worker.metrics.snapshot();
  await worker.stop();
  await rowmill.close();
  expect(seen).toMatchObject({
    items_added_total: 50,
    items_claimed_total: 51,
    items_flushed_total: 51,
    items_retried_total: 1,
    'items_ended_total{status=DONE}': 49,
    'items_ended_total{status=SKIPPED}': 1,
    'resource_calls_total{resource=service,answer=throttled}': 0,
    'jobs_finished_total{outcome=DONE}': 1,
    finish_lag_ms_count: 1,
    buffer_fullness: 0,
    outcomes_fenced_total: 0,
  });
  expect(seen.flush_items_sum).toBe(51);
  expect(seen.pool_wait_ms).toBeGreaterThan(0);
  expect(seen['database_transactions{end=commit}']).toBeGreaterThan(3);
  for (const quantile of [0.5, 0.95, 0.99]) {
    expect(seen[`claim_to_commit_ms{quantile=${quantile}}`]).toBeGreaterThan(0);
  }
});

test('rollbacks and outcomes that came too late are counted', async () => {
  const events = new Events();
  const metrics = createMetrics(events);
  events.emit('flush.rolled_back', { jobId: 'a', items: 3, error: new Error('gone'), kind: 'passing' });
  events.emit('flush.fenced', { jobId: 'a', items: 7 });
  events.emit('ingest.batch', {
    jobId: 'a',
    rows: 9,
    rejected: 0,
    ms: 40,
    poolWaitMs: 1,
    tries: 1,
    nextRows: 18,
  });
  metrics.stop();
  events.emit('flush.fenced', { jobId: 'a', items: 7 });
  expect(await metrics.snapshot()).toMatchObject({
    'flush_rollbacks_total{kind=passing}': 1,
    outcomes_fenced_total: 7,
    ingest_batch_ms_sum: 40,
  });
});
