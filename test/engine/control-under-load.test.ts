// Control actions while real workers run: handlers stop, nothing is lost, and the counts are exact. The tests print
// how long it took.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { monotonicMs, waitMs } from '../../src/platform/clock.ts';
import { newId } from '../../src/platform/random.ts';
import { beginCancelling } from '../../src/store/commands/jobs/begin-cancelling.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import type { RowmillWorker } from '../../src/worker/worker.ts';
import { claimRequest } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
let rowmill: Rowmill;

beforeAll(async () => {
  rowmill = await openRowmill({
    databaseUrl: database.url,
    settings: { blobStore: database.context().settings.blobStore },
  });
});
afterAll(() => rowmill.close());

/**
 * A pipeline that records its handlers' starts and aborts. Each handler takes `handler` milliseconds, or waits for
 * that promise.
 */
function watched(handler: number | Promise<void>) {
  const seen = { starts: 0, running: 0, aborted: 0, seqs: [] as number[], jobIds: [] as string[] };
  const pipeline = definePipeline({
    name: `watched-${newId()}`,
    phases: [
      {
        name: 'only',
        concurrency: 8,
        async run(_input, { jobId, signal, seq }) {
          seen.starts += 1;
          seen.jobIds.push(jobId);
          seen.seqs.push(seq);
          seen.running += 1;
          signal.addEventListener('abort', () => {
            seen.aborted += 1;
          });
          await (typeof handler === 'number' ? waitMs(handler, signal) : handler);
          seen.running -= 1;
          signal.throwIfAborted();
          return { seq };
        },
      },
    ],
  });
  return { seen, pipeline };
}

async function until(what: string, test: () => boolean | Promise<boolean>): Promise<void> {
  const startedMs = monotonicMs();
  while (!(await test())) {
    if (monotonicMs() - startedMs > 45_000) throw new Error(`timed out waiting for ${what}`);
    await waitMs(10);
  }
  console.log(`${what}: after ${Math.round(monotonicMs() - startedMs)} ms`);
}

async function withWorkers(
  pipeline: Pipeline,
  count: number,
  work: (workers: RowmillWorker[]) => Promise<void>,
) {
  const workers: RowmillWorker[] = [];
  try {
    for (let n = 0; n < count; n += 1) workers.push(await rowmill.startWorker([pipeline]));
    await work(workers);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop({ drainMs: 500 })));
  }
}

const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

async function expectExact(jobId: string, state: string, total: number) {
  const summary = await whenFinished(rowmill, jobId);
  expect(summary).toMatchObject({ state, total });
  const counted = await database.query<{ status: string; n: number }>(
    'select status::text, count(*)::int as n from results where job_id = $1 group by 1',
    [jobId],
  );
  for (const { status, n } of counted) expect(summary.counts).toMatchObject({ [status]: n });
  expect(counted.reduce((sum, { n }) => sum + n, 0)).toBe(total);
  expect(await diagnose(database.url, { jobId, blobs: contextOf(rowmill).blobs })).toMatchObject({
    ok: true,
  });
  return summary;
}

describe('a job under load', () => {
  test('that is paused starts no further call, keeps the results of running calls, and finishes after the resume', async () => {
    const { seen, pipeline } = watched(20);
    await withWorkers(pipeline, 2, async () => {
      const jobId = await rowmill.submit(pipeline, rows(2000));
      await until('items to run', () => seen.starts > 100);
      expect(await rowmill.pause(jobId)).toBe(true);
      await until('claimed items to be returned', async () => {
        const { counts } = await rowmill.progress(jobId);
        return counts.PROCESSING === 0 && seen.running === 0;
      });
      const started = seen.starts;
      // The same workers keep looking for work, and find other jobs.
      for (let job = 0; job < 5; job += 1)
        await whenFinished(rowmill, await rowmill.submit(pipeline, rows(20)));
      expect(seen.starts).toBe(started + 100);
      expect(seen.jobIds.filter((each) => each === jobId)).toHaveLength(started);
      const { counts } = await rowmill.progress(jobId);
      expect(counts.DONE, 'every result is kept').toBe(started);
      expect(counts.PENDING).toBe(2000 - started);
      expect(seen.aborted).toBe(0);

      await rowmill.resume(jobId);
      await expectExact(jobId, 'DONE', 2000);
      const seqs = seen.seqs.filter((_, at) => seen.jobIds[at] === jobId);
      expect(new Set(seqs).size).toBe(2000);
      expect(seqs, 'no item ran twice').toHaveLength(2000);
    });
  });

  test('that is paused returns its queued items while a slow handler still runs', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { seen, pipeline } = watched(released);
    await withWorkers(pipeline, 1, async () => {
      const jobId = await rowmill.submit(pipeline, rows(40));
      await until('items to run', () => seen.running === 8);
      await rowmill.pause(jobId);
      await until('the rest to be returned', async () => {
        const { counts } = await rowmill.progress(jobId);
        return counts.PENDING === 32 && counts.PROCESSING === 8;
      });
      release();
      await until(
        'the results of running calls',
        async () => (await rowmill.progress(jobId)).counts.DONE === 8,
      );
      expect(seen.starts).toBe(8);
      await rowmill.cancel(jobId);
      await expectExact(jobId, 'CANCELLED', 40);
    });
  });

  test('that is cancelled aborts every handler and counts exactly', async () => {
    const { seen, pipeline } = watched(600_000);
    const quick = watched(5);
    await withWorkers(pipeline, 2, async () => {
      const jobId = await rowmill.submit(pipeline, rows(5000));
      await until('handlers to run', () => seen.running === 16);
      const cancelled = rowmill.cancel(jobId);
      // Uncancelled they would run for ten minutes.
      await until('handlers to be aborted', () => seen.running === 0);
      expect(await cancelled).toBe(true);
      expect((await expectExact(jobId, 'CANCELLED', 5000)).counts.CANCELLED).toBe(5000);
      // A worker stops its leases one after the other: calls that it starts meanwhile from another lease are aborted
      // too.
      await until('the last handler to be aborted', () => seen.running === 0);
      expect(seen.aborted).toBe(seen.starts);
    });
    await withWorkers(quick.pipeline, 2, async () => {
      const jobId = await rowmill.submit(quick.pipeline, rows(20_000));
      await until('results', async () => (await rowmill.progress(jobId)).counts.DONE > 50);
      await rowmill.cancel(jobId);
      const { counts } = await expectExact(jobId, 'CANCELLED', 20_000);
      expect(counts.DONE).toBeGreaterThan(50);
      expect(counts.CANCELLED).toBeGreaterThan(0);
    });
  });

  test('frees its slots for other jobs when it is cancelled', async () => {
    const { seen, pipeline } = watched(60_000);
    await withWorkers(pipeline, 1, async () => {
      const first = await rowmill.submit(pipeline, rows(8));
      await until('handlers to run', () => seen.running === 8);
      const second = await rowmill.submit(pipeline, rows(8));
      await rowmill.cancel(first);
      await until('the other job to run', () => seen.starts === 16);
      await rowmill.cancel(second);
      await expectExact(second, 'CANCELLED', 8);
    });
  });
});

test('the sweep of any worker completes an abandoned cancellation', async () => {
  const { pipeline } = watched(5);
  const jobId = await rowmill.submit(pipeline, rows(100));
  const { db } = contextOf(rowmill);
  // A worker that died with a lease, and a canceller that died after its first statement.
  await claimItems(db, claimRequest(jobId, { maxItems: 30 }));
  await beginCancelling(db, jobId);
  const other = watched(5);
  const worker = await rowmill.startWorker([other.pipeline], {
    settings: { ...contextOf(rowmill).settings, sweepMs: 100 },
  });
  try {
    await expectExact(jobId, 'CANCELLED', 100);
  } finally {
    await worker.stop();
  }
});

test('the file of a cancelled job is not read further', async () => {
  const { pipeline } = watched(5);
  const total = 200_000;
  async function* lines() {
    yield Buffer.from('n\n');
    for (let n = 0; n < total; n += 1000)
      yield Buffer.from(Array.from({ length: 1000 }, (_, i) => `${n + i}\n`).join(''));
  }
  const { jobId } = await rowmill.createFileJob(pipeline, { name: 'rows.csv', bytes: lines() });
  const added = contextOf(rowmill).events.next('items.added', (batch) => batch.jobId === jobId);
  const reading = rowmill.ingest(jobId, pipeline);
  await added;
  await cancelJob(contextOf(rowmill), jobId);
  expect(await reading).toBe(false);
  const { itemCount, sealedAt } = await rowmill.job(jobId);
  expect(itemCount).toBeGreaterThan(0);
  expect(itemCount).toBeLessThan(total);
  expect(sealedAt).toBeNull();
  await expectExact(jobId, 'CANCELLED', itemCount);
});

test('the file of a held job is read, and after the resume only the trial runs', async () => {
  const { seen, pipeline } = watched(1);
  const bytes = (async function* () {
    yield Buffer.from(`n\n${Array.from({ length: 100 }, (_, n) => `${n}\n`).join('')}`);
  })();
  await withWorkers(pipeline, 1, async () => {
    const { jobId } = await rowmill.submitFile(
      pipeline,
      { name: 'rows.csv', bytes },
      { hold: true, trial: 10 },
    );
    expect(await rowmill.job(jobId)).toMatchObject({ state: 'PAUSED', itemCount: 100 });
    expect(seen.starts).toBe(0);
    await rowmill.resume(jobId);
    await until('the trial', async () => (await rowmill.progress(jobId)).counts.DONE === 10);
    expect(await rowmill.progress(jobId)).toMatchObject({ held: 90, counts: { PENDING: 90 } });
    expect(await rowmill.resume(jobId)).toMatchObject({ released: 90 });
    await expectExact(jobId, 'DONE', 100);
    expect(seen.seqs.slice(0, 10).sort((a, b) => a - b)).toEqual(rows(10).map(({ n }) => n));
  });
});
