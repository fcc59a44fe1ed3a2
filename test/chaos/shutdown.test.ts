// Orderly shutdown: stop claiming, finish or abort, write, release. Leases are long here, so an item that was not
// released would stay leased.
import { afterEach, expect, test } from 'vitest';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { waitMs } from '../../src/platform/clock.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { RowmillWorker, type StopReport } from '../../src/worker/worker.ts';
import { killAll } from '../support/child-process.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  callsPerSeq,
  chaosPipeline,
  numberedItems,
  startChaosWorker,
  workerIdOf,
} from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob, heldItems } from './check-finished-job.ts';

const database = useTestDatabase();
const LONG_LEASE: Partial<Settings> = { ...CHAOS_SETTINGS, lockFloorMs: 60_000, lockCapMs: 60_000 };
let rowmill: Rowmill;
afterEach(async () => {
  await killAll();
  await rowmill.close();
});

function waitingSpans(jobId: string): Promise<Record<string, unknown>[]> {
  return database.query(
    `select distinct worker_id, attempt, crashes from spans where job_id = $1 order by 1, 2, 3`,
    [jobId],
  );
}

test('SIGTERM under load: results are written, and the remaining items are released immediately and uncharged', async () => {
  database.keepIfFailed();
  rowmill = await openRowmill({ databaseUrl: database.url, settings: LONG_LEASE });
  // More items than the worker can run before it receives the signal.
  const items = 2000;
  const jobId = await rowmill.submit(chaosPipeline('leaving'), numberedItems(items));
  const shared = { databaseUrl: database.url, pipeline: 'leaving', concurrency: 4 };
  const leaver = startChaosWorker({
    ...shared,
    handler: { kind: 'work', minMs: 20, maxMs: 60 },
    // Running calls can finish within the drain time, even on a slow machine.
    settings: { ...LONG_LEASE, drainMs: 60_000, claimMin: 50, claimMax: 50, flushMaxDelayMs: 60_000 },
  });
  const workerId = await workerIdOf(leaver);
  let returned = 0;
  await leaver.waitFor('return', () => ++returned > 12);
  expect(await heldItems(database, jobId, workerId), 'void: nothing was held').toBeGreaterThan(0);
  leaver.kill('SIGTERM');
  expect(await leaver.exited).toEqual({ code: 0, signal: null });
  const stopped = await leaver.waitFor('stopped');
  expect(stopped.report).toEqual({ unpersisted: [] });

  const called = callsPerSeq(leaver).size;
  const [written] = await database.query<{ count: number }>(
    'select count(*)::int as count from results where job_id = $1',
    [jobId],
  );
  expect(written!.count, 'every started item is written').toBe(called);
  expect(called, 'void: everything was done').toBeLessThan(items);
  expect(await waitingSpans(jobId)).toEqual([{ worker_id: null, attempt: 0, crashes: 0 }]);
  expect(await database.query('select 1 from workers where worker_id = $1', [workerId])).toEqual([]);

  const next = startChaosWorker({ ...shared, settings: LONG_LEASE });
  await whenFinished(rowmill, jobId);
  await checkFinishedJob(database, jobId, { counts: { DONE: items } });
  expect(await attemptsOf(database, jobId)).toEqual([1]);
  expect([...callsPerSeq(leaver, next).values()].every((count) => count === 1)).toBe(true);
});

/** Completes its first items immediately and never the others; `stuck` resolves when every slot holds one of these. */
function stubbornPipeline(name: string, answered: number): { pipeline: Pipeline; stuck: Promise<void> } {
  const concurrency = 4;
  let stuckCount = 0;
  let onStuck = (): void => {};
  const stuck = new Promise<void>((resolve) => {
    onStuck = resolve;
  });
  const pipeline = definePipeline({
    name,
    phases: [
      {
        name: 'only',
        concurrency,
        run: (input: Record<string, unknown>) => {
          if (Number(input.n) < answered) return { n: input.n };
          stuckCount += 1;
          if (stuckCount === concurrency) onStuck();
          return new Promise<never>(() => {});
        },
      },
    ],
  });
  return { pipeline, stuck };
}

/** A limit, not a measurement: far above the usual time, and less than a lease. */
const LIMIT_MS = 50_000;

async function stopWithin(worker: RowmillWorker, drainMs: number): Promise<StopReport> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`stop() took more than ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  try {
    return await Promise.race([worker.stop({ drainMs }), late]);
  } finally {
    clearTimeout(timer);
  }
}

test('a handler that never returns does not hold up the shutdown', async () => {
  database.keepIfFailed();
  rowmill = await openRowmill({ databaseUrl: database.url, settings: LONG_LEASE });
  const { pipeline, stuck } = stubbornPipeline('stubborn', 10);
  const jobId = await rowmill.submit(pipeline, numberedItems(30));
  const worker = await rowmill.startWorker([pipeline], {
    log: silentLogger,
    settings: { ...contextOf(rowmill).settings, claimMin: 30, flushMaxDelayMs: 60_000 },
  });
  await stuck;
  expect(await stopWithin(worker, 200)).toEqual({ unpersisted: [] });
  const [written] = await database.query('select count(*)::int as count from results where job_id = $1', [
    jobId,
  ]);
  expect(written).toEqual({ count: 10 });
  expect(await waitingSpans(jobId)).toEqual([{ worker_id: null, attempt: 0, crashes: 0 }]);

  startChaosWorker({ databaseUrl: database.url, pipeline: pipeline.name, settings: LONG_LEASE });
  await whenFinished(rowmill, jobId);
  await checkFinishedJob(database, jobId, { counts: { DONE: 30 } });
});

test('rows that wait for a permit are released immediately, no permit stays held, and each row gets one result', async () => {
  database.keepIfFailed();
  rowmill = await openRowmill({ databaseUrl: database.url, settings: LONG_LEASE });
  const calls: number[] = [];
  const pipeline = definePipeline({
    name: 'waiting-for-permits',
    resources: { shut: { concurrency: 5 } },
    phases: [
      {
        name: 'only',
        resources: ['shut'],
        run: async ({ n }) => {
          calls.push(Number(n));
          return { n };
        },
      },
    ],
  });
  await rowmill.setResource('shut', { paused: true });
  const jobId = await rowmill.submit(pipeline, numberedItems(200));
  const worker = await rowmill.startWorker([pipeline], { log: silentLogger });
  const holders = async (): Promise<unknown[]> => {
    const [row] = await database.query<{ holders: object }>(
      `select state -> 'holders' as holders from resources where name = 'shut' and state is not null`,
    );
    return Object.values(row?.holders ?? {});
  };
  while (!worker.pools().some(({ waiting }) => waiting > 0) || (await holders()).length === 0)
    await waitMs(20);
  expect(await worker.stop({ drainMs: 200 })).toEqual({ unpersisted: [] });
  expect(calls).toEqual([]);
  expect(await waitingSpans(jobId)).toEqual([{ worker_id: null, attempt: 0, crashes: 0 }]);
  expect(await holders()).toEqual([]);

  await rowmill.setResource('shut', { paused: null });
  const next = await rowmill.startWorker([pipeline], { log: silentLogger });
  await rowmill.whenFinished(jobId);
  await next.stop();
  expect(calls.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n));
  await checkFinishedJob(database, jobId, { counts: { DONE: 200 } });
});

test('a second stop() during the first changes nothing', async () => {
  database.keepIfFailed();
  rowmill = await openRowmill({ databaseUrl: database.url, settings: LONG_LEASE });
  const { pipeline, stuck } = stubbornPipeline('twice', 10);
  const jobId = await rowmill.submit(pipeline, numberedItems(30));
  const worker = await rowmill.startWorker([pipeline], {
    log: silentLogger,
    settings: { ...contextOf(rowmill).settings, claimMin: 30, flushMaxDelayMs: 60_000 },
  });
  await stuck;
  const reports = await Promise.all([stopWithin(worker, 200), stopWithin(worker, 200)]);
  expect(reports).toEqual([{ unpersisted: [] }, { unpersisted: [] }]);
  expect(await waitingSpans(jobId)).toEqual([{ worker_id: null, attempt: 0, crashes: 0 }]);
});

test('a shutdown while the database does not answer ends at its deadline and reports the unwritten items', async () => {
  database.keepIfFailed();
  rowmill = await openRowmill({ databaseUrl: database.url, settings: LONG_LEASE });
  const proxy = await startFaultProxy({ target: database.url });
  const { pipeline, stuck } = stubbornPipeline('unreachable', 10);
  const jobId = await rowmill.submit(pipeline, numberedItems(30));
  const worker = new RowmillWorker({
    databaseUrl: proxy.url,
    pipelines: [pipeline],
    events: contextOf(rowmill).events,
    log: silentLogger,
    settings: { ...contextOf(rowmill).settings, claimMin: 30, flushMaxDelayMs: 60_000 },
  });
  const announced: unknown[] = [];
  worker.events.on('worker.unpersisted', (detail) => announced.push(detail));
  await worker.start();
  await stuck;
  proxy.blackhole();
  try {
    const report = await stopWithin(worker, 200);
    expect(report.unpersisted).toEqual([{ jobId, seqs: '{[0,10)}', items: 10 }]);
    expect(announced).toMatchObject(report.unpersisted);
    expect(proxy.fired.map(({ fault }) => fault)).toContain('blackhole');
    expect(await heldItems(database, jobId), 'void: the items were not held').toBe(30);
  } finally {
    await proxy.stop();
  }
});
