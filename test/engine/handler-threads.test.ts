// CPU-bound phases in threads: a handler that breaks its thread costs only its own item.
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { loadPipelines } from '../../src/pipeline/load-pipelines.ts';
import { readItemTrace } from '../../src/store/views/items/read-item-trace.ts';
import { SupervisedWorker } from '../../src/worker/process/supervise-worker.ts';
import { checkFinishedJob } from '../chaos/check-finished-job.ts';
import { countedEntries } from '../support/counter-recount.ts';
import { sample } from '../support/depth.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
const MODULE = fileURLToPath(new URL('hostile-pipelines.mjs', import.meta.url));
let rowmill: Rowmill;
let pipelines: Pipeline[];
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  pipelines = await loadPipelines([MODULE]);
});
afterAll(() => rowmill.close());

const named = (name: string): Pipeline => pipelines.find((pipeline) => pipeline.name === name)!;

interface Ended {
  how: string;
  status: string;
  result: unknown;
  error_class: string | null;
  error: string | null;
}

function endsOf(jobId: string): Promise<Ended[]> {
  return database.query<Ended>(
    `select i.input ->> 'how' as how, r.status::text, r.result, r.error_class, r.error
     from items i join results r using (job_id, seq) where i.job_id = $1 order by seq`,
    [jobId],
  );
}

test('a thread that exits, blocks, throws or runs out of memory costs its one item', async () => {
  database.keepIfFailed();
  const worker = await rowmill.startWorker([named('threaded')], { log: silentLogger });
  const hostile: Record<string, [string, string, RegExp]> = {
    exit: ['ERROR', 'crashed', /^the handler thread exited with code 3$/],
    uncaught: ['ERROR', 'crashed', /uncaught error: thrown where nobody catches$/],
    oom: ['ERROR', 'crashed', /needed more than 32 MB of memory \(thread\.memoryMb\)$/],
    block: ['ERROR', 'timeout', /no answer within 6000 ms/],
    heed: ['ERROR', 'timeout', /no answer within 6000 ms/],
    throws: ['NOT_FOUND', 'not_found', /^unprocessable$/],
    notFound: ['NOT_FOUND', 'not_found', /^nowhere$/],
    fail: ['ERROR', 'permanent', /^refused$/],
  };
  const rows = Object.keys(hostile).flatMap((how, n) => [
    { how: 'ok', n },
    { how, n },
    { how: 'ok', n },
  ]);
  const jobId = await rowmill.submit(named('threaded'), rows);
  await whenFinished(rowmill, jobId);
  const ends = await endsOf(jobId);
  for (const { how, status, result, error_class, error } of ends) {
    if (how === 'ok')
      expect.soft([status, result]).toEqual(['DONE', expect.objectContaining({ inThread: true })]);
    else {
      const [expectedStatus, expectedClass, message] = hostile[how]!;
      expect.soft([how, status, error_class]).toEqual([how, expectedStatus, expectedClass]);
      expect.soft(error, how).toMatch(message);
    }
  }
  await checkFinishedJob(database, jobId, { counts: { DONE: 16, ERROR: 6, NOT_FOUND: 2 } });
  const stats = worker.pools().find(({ phase }) => phase === 'compute')!;
  // Replaced: exit, uncaught, oom and block. A handler that respects its signal keeps its thread. Two items are called
  // a second time.
  expect(stats).toMatchObject({ calls: 26, timeouts: 2, replacedThreads: 4, busy: 0, error: 0 });
  const metrics = await worker.metrics.snapshot();
  expect(metrics).toMatchObject({
    'slots{pipeline=threaded,phase=compute,state=idle}': 2,
    'slots{pipeline=threaded,phase=compute,state=busy}': 0,
    'handler_calls{pipeline=threaded,phase=compute}': 26,
    'handler_timeouts{pipeline=threaded,phase=compute}': 2,
    'replaced_threads{pipeline=threaded,phase=compute}': 4,
  });
  expect(await worker.stop()).toEqual({ unpersisted: [] });
});

test('a handler in a thread has its context, log, columns and counters', async () => {
  const lines: [object, string][] = [];
  const log: Logger = { ...silentLogger, warn: (fields, message) => lines.push([fields, message]) } as Logger;
  const worker = await rowmill.startWorker([named('threaded')], { log });
  const jobId = await rowmill.submit(named('threaded'), [
    { how: 'context', n: 5 },
    { how: 'date', n: 6 },
    { how: 'count', n: 7 },
    { how: 'count', n: 8 },
  ]);
  await whenFinished(rowmill, jobId);
  const [context, date] = await endsOf(jobId);
  expect(context!.result).toEqual({
    jobId,
    seq: 0,
    attempt: 1,
    idempotencyKey: `${jobId}:0:1:1`,
    previous: { before: 5 },
  });
  expect(date!.result).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  const columns = await database.query<{ name: string }>(
    'select name from result_columns where job_id = $1 order by name',
    [jobId],
  );
  expect(columns.map(({ name }) => name)).toEqual(
    ['at', 'attempt', 'idempotencyKey', 'jobId', 'n', 'previous', 'seq'].sort(),
  );
  expect(await countedEntries(database, 'thread-notes')).toEqual({ 'p/d': '15' });
  expect(lines).toContainEqual([{ jobId, seq: 0, attempt: 1, n: 5 }, 'said in a thread']);
  await worker.stop();
});

test('lines of a thread are bounded before they leave it, and survive its end', async () => {
  const lines: string[] = [];
  const log: Logger = { ...silentLogger, info: (_, message) => lines.push(message) } as Logger;
  const worker = await rowmill.startWorker([named('threaded')], { log });
  const jobId = await rowmill.submit(named('threaded'), [
    { how: 'logThenExit', n: 0 },
    { how: 'logGigabyte', n: sample([128, 1024], 1)[0] },
  ]);
  await whenFinished(rowmill, jobId);
  await worker.stop();
  const { db } = contextOf(rowmill);
  const exited = (await readItemTrace(db, jobId, 0)).filter(({ phase }) => phase === 1);
  expect(exited.length).toBeGreaterThan(0);
  for (const { log: kept } of exited)
    expect(kept).toMatchObject([{ level: 'info', message: 'about to exit', fields: { code: 3 } }]);
  const [, much] = await readItemTrace(db, jobId, 1);
  expect(much!.log).toMatchObject([{ message: 'begins' }]);
  expect(much!.droppedLines).toBeGreaterThanOrEqual(128);
  // The log of the process gets no more than the limit of an attempt.
  expect(lines.reduce((sum, line) => sum + line.length, 0)).toBeLessThan(100_000);
});

test('there are as many threads as slots, and they share the work', async () => {
  const worker = await rowmill.startWorker([named('counted-threads')], { log: silentLogger });
  const rows = Array.from({ length: 300 }, (_, n) => ({ n }));
  const jobId = await rowmill.submit(named('counted-threads'), rows);
  await whenFinished(rowmill, jobId);
  await checkFinishedJob(database, jobId, { counts: { DONE: 300 } });
  const threads = new Set(
    (await endsOf(jobId)).map(({ result }) => (result as { threadId: number }).threadId),
  );
  expect(threads.has(0)).toBe(false);
  expect(threads.size).toBeGreaterThan(0);
  expect(threads.size).toBeLessThanOrEqual(3);
  await worker.stop();
});

test('a pipeline that its module does not export is refused for threads', async () => {
  const inMemory = definePipeline({
    name: 'here',
    phases: [{ name: 'compute', thread: true, run: () => 1 }],
  });
  await expect(rowmill.startWorker([inMemory])).rejects.toMatchObject({
    code: 'PIPELINE_INVALID',
    message: expect.stringContaining('phase compute of pipeline here runs in threads'),
  });
});

const DEAF_ROWS = [...Array.from({ length: 5 }, () => ({ deaf: true })), { deaf: false }];

test('too many handlers that never return are logged as an error', async () => {
  const errors: string[] = [];
  const log: Logger = { ...silentLogger, error: (_, message) => errors.push(message) } as Logger;
  const worker = await rowmill.startWorker([named('deaf')], { log, settings: { zombieHandlersMax: 4 } });
  const stuck = worker.events.next('handlers.stuck');
  const jobId = await rowmill.submit(named('deaf'), DEAF_ROWS);
  await whenFinished(rowmill, jobId);
  expect(await stuck).toEqual({ count: 5 });
  expect(worker.pools()).toMatchObject([{ idle: 2, busy: 0, error: 5, timeouts: 5 }]);
  expect(errors).toEqual(['too many aborted handlers never returned; restarting worker process']);
  await worker.stop();
});

test('under a supervisor, stuck handlers restart the process without counting as a crash', async () => {
  database.keepIfFailed();
  const replaced: string[] = [];
  let seen: () => void = () => {};
  const wasReplaced = new Promise<void>((resolve) => {
    seen = resolve;
  });
  const context = database.context({ zombieHandlersMax: 4 });
  const supervised = new SupervisedWorker({
    context,
    modules: [MODULE],
    logLevel: 'silent',
    onCrash: (how) => {
      replaced.push(how);
      seen();
    },
  });
  await supervised.start();
  const first = await rowmill.submit(named('deaf'), DEAF_ROWS);
  await whenFinished(rowmill, first);
  await checkFinishedJob(database, first, { counts: { DONE: 1, ERROR: 5 } });
  await wasReplaced;
  const second = await rowmill.submit(named('deaf'), [{ deaf: false }]);
  await whenFinished(rowmill, second);
  const pidOf = async (jobId: string) =>
    (await endsOf(jobId)).flatMap(({ result }) => (result ? [(result as { pid: number }).pid] : []));
  expect(await pidOf(second)).not.toEqual(await pidOf(first));
  expect(replaced).toEqual(['exit code 4']);
  expect(supervised.crashes).toBe(0);
  expect(await supervised.stop()).toBe(true);
});
