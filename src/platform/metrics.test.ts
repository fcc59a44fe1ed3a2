import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { retryLater } from '../core/outcome.ts';
import { openRowmill } from '../open-rowmill.ts';
import { definePipeline } from '../worker/define-pipeline.ts';
import { Events } from './events.ts';
import { createMetrics } from './metrics.ts';

const database = useTestDatabase();

test('a worker counts what it did: items, flushes, transactions, retries, and how long it took', async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const pipeline = definePipeline({
    name: 'counted',
    phases: [
      {
        name: 'only',
        run: (row, { attempt }) => (row.n === 0 && attempt === 1 ? retryLater({ afterMs: 0 }) : { n: row.n }),
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
  const seen = await worker.metrics.snapshot();
  await worker.stop();
  await rowmill.close();
  expect(seen).toMatchObject({
    items_added_total: 50,
    items_claimed_total: 51,
    items_flushed_total: 51,
    items_retried_total: 1,
    'jobs_finished_total{outcome=DONE}': 1,
    finish_lag_ms_count: 1,
    buffer_fullness: 0,
    outcomes_fenced_total: 0,
  });
  expect(seen.flush_items_sum).toBe(51);
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
  metrics.stop();
  events.emit('flush.fenced', { jobId: 'a', items: 7 });
  expect(await metrics.snapshot()).toMatchObject({
    'flush_rollbacks_total{kind=passing}': 1,
    outcomes_fenced_total: 7,
  });
});
