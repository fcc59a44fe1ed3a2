// The trace of a row: log lines and details of its attempts, from the handler through the flush to the API.
import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { definePipeline, type ItemContext, notFound, openRowmill, type Rowmill } from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { newId } from '../../src/platform/random.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { tryRow } from '../../src/cli/try/try-row.ts';
import { runPipeline } from '../../src/testing/index.ts';
import { readItemTrace, type TracedAttempt } from '../../src/store/views/items/read-item-trace.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
afterEach(() => rowmill.close());

type Handler = (row: { n: number }, context: ItemContext) => unknown;

/** Runs the rows through the handlers and returns the job. */
async function finished(
  handlers: Handler[],
  rows: { n: number }[],
  settings: Partial<Settings> = {},
): Promise<string> {
  rowmill = await openRowmill({ databaseUrl: database.url, settings });
  const pipeline = definePipeline({
    name: `traced-${newId()}`,
    strategies: ['near', 'far'],
    phases: handlers.map((run, at) => ({
      name: `phase ${at}`,
      retry: { overloaded: { maxAttempts: 3, baseMs: 1, capMs: 1 }, not_found: { baseMs: 1, capMs: 1 } },
      run: (row: unknown, context: unknown) => run(row as { n: number }, context as ItemContext),
    })),
  } as Parameters<typeof definePipeline>[0]);
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(pipeline, rows, { outputs: [] });
  await rowmill.whenFinished(jobId);
  await worker.stop();
  return jobId;
}

const traceOf = (jobId: string, seq: number): Promise<TracedAttempt[]> =>
  readItemTrace(contextOf(rowmill).db, jobId, seq);

const storedTraces = async (jobId: string): Promise<number> =>
  (
    await database.query(
      `select coalesce(sum(cardinality(string_to_array(traces, E'\\n'))), 0)::int as n from trace_blocks where job_id = $1`,
      [jobId],
    )
  )[0]!.n as number;

const lines = (attempt: TracedAttempt): unknown[] =>
  attempt.log.map(({ level, message, fields }) => [level, message, fields]);

test('rows that succeed at once and log nothing store no trace, and have their attempts', async () => {
  const jobId = await finished([() => ({ ok: true }), () => ({ ok: true })], [{ n: 0 }, { n: 1 }]);
  expect(await storedTraces(jobId)).toBe(0);
  expect(await traceOf(jobId, 1)).toMatchObject([
    { phase: 0, attempt: 1, outcome: 'advanced', log: [], workerId: null },
    { phase: 1, attempt: 1, outcome: 'done', log: [], workerId: null },
  ]);
});

test('log lines are stored with the outcome of their row, in one statement or a transaction', async () => {
  const jobId = await finished(
    [
      ({ n }, { log }) => {
        log('looked', { n });
        log.warn('slow');
        log.error({ code: 7 }, 'fields first');
        log.child({ shop: 'a' }).info('inside', { n });
        log.debug('not stored');
        return n === 1 ? notFound() : { n };
      },
    ],
    [{ n: 0 }, { n: 1 }, { n: 2 }],
  );
  for (const seq of [0, 1, 2])
    for (const attempt of await traceOf(jobId, seq))
      expect(lines(attempt)).toEqual([
        ['info', 'looked', { n: seq }],
        ['warn', 'slow', {}],
        ['error', 'fields first', { code: 7 }],
        ['info', 'inside', { shop: 'a', n: seq }],
      ]);
  const [done] = await traceOf(jobId, 2);
  expect(done).toMatchObject({ outcome: 'done', attempt: 1, strategy: 'near', droppedLines: 0 });
  expect(done!.workerId).toMatch(/^[0-9a-f-]{36}$/);
  const tried = await traceOf(jobId, 1);
  expect(tried[0]).toMatchObject({ outcome: 'retry', strategy: 'near', errorClass: 'not_found' });
  expect(tried[1]).toMatchObject({ strategy: 'far' });
  expect(tried.at(-1)).toMatchObject({ outcome: 'not_found', errorClass: 'not_found', thrown: null });
});

test('a failed attempt keeps its error with stack and causes, and the next one its number', async () => {
  const jobId = await finished(
    [
      (_, { attempt }) => {
        if (attempt === 1)
          throw Object.assign(new Error('busy', { cause: new TypeError('no\0 socket') }), { status: 503 });
        return { attempt };
      },
      () => ({ ok: true }),
    ],
    [{ n: 0 }],
  );
  const trace = await traceOf(jobId, 0);
  expect(trace).toMatchObject([
    { phase: 0, attempt: 1, outcome: 'retry', errorClass: 'overloaded', thrown: { name: 'Error' } },
    { phase: 0, attempt: 2, outcome: 'advanced', errorClass: null, thrown: null },
    { phase: 1, attempt: 1, outcome: 'done' },
  ]);
  expect(trace[0]!.thrown!.stack[0]).toContain('row-traces.test.ts');
  expect(trace[0]!.thrown!.causes).toMatchObject([{ name: 'TypeError', message: 'no\ufffd socket' }]);
  expect(trace[1]!.startedAt!.getTime()).toBeGreaterThanOrEqual(trace[0]!.startedAt!.getTime());
});

test('hostile log lines do not keep an outcome from being stored', async () => {
  const jobId = await finished(
    [
      (row, { log }) => {
        log('a\0b \ud83d', { '\0': '\udc00', tab: '\t\\N\n' });
        for (let n = 0; n < 1000; n += 1) log('again', { n });
        return row;
      },
    ],
    [{ n: 0 }],
    { logMaxLines: 5 },
  );
  const [attempt] = await traceOf(jobId, 0);
  expect(attempt).toMatchObject({ outcome: 'done', droppedLines: 996 });
  expect(attempt!.log).toHaveLength(5);
  expect(attempt!.log[0]).toMatchObject({
    message: 'a\ufffdb \ufffd',
    fields: { '\ufffd': '\ufffd', tab: '\t\\N\n' },
  });
});

test('the API answers with the trace, and deleting the job deletes it', async () => {
  const jobId = await finished(
    [
      ({ n }, { log, attempt }) => {
        log('looked', { n });
        if (attempt === 1) throw Object.assign(new Error('busy'), { status: 503 });
        return { n };
      },
    ],
    [{ n: 0 }],
  );
  const api = await startTestApi(database.url);
  const client = createClient({ baseUrl: api.url, validate: true });
  const { seq, attempts } = await client.getItemTrace({ jobId, seq: 0 });
  expect(seq).toBe(0);
  expect(attempts).toMatchObject([
    { phaseName: 'phase 0', attempt: 1, outcome: 'retry', error: 'busy' },
    { phaseName: 'phase 0', attempt: 2, outcome: 'done', waitedFor: 'retry', log: [{ message: 'looked' }] },
  ]);
  await expect(client.getItemTrace({ jobId, seq: 5 })).rejects.toMatchObject({ code: 'ITEM_NOT_FOUND' });

  expect(await storedTraces(jobId)).toBe(2);
  await client.deleteJob({ jobId });
  await expect.poll(() => storedTraces(jobId)).toBe(0);
});

const logging: Handler = ({ n }, { log }) => {
  log('first', { n });
  log.warn('second', { n });
  return { n };
};

test('the log of a job has every line once, page by page and by level', async () => {
  const rows = Array.from({ length: 40 }, (_, n) => ({ n }));
  const jobId = await finished([logging, logging], rows);
  const { url } = await startTestApi(database.url);
  const client = createClient({ baseUrl: url, validate: true });
  const seen: string[] = [];
  for await (const line of client.pages('listLogs', { jobId, limit: 7 }))
    seen.push(`${line.phaseName} ${line.seq} ${line.message}`);
  expect(new Set(seen).size).toBe(160);
  expect(seen).toHaveLength(160);
  const { items, next } = await client.listLogs({ jobId, level: 'warn', limit: 200 });
  expect(items).toHaveLength(80);
  expect(items.every(({ level }) => level === 'warn')).toBe(true);
  expect(next).toBeNull();
  const [first] = items;
  expect(Date.now() - Date.parse(first!.at)).toBeLessThan(60_000);
});

test('a follower of a job waits for transactions that may still commit lines', async () => {
  const jobId = await finished([logging], [{ n: 0 }]);
  const { url } = await startTestApi(database.url);
  const client = createClient({ baseUrl: url, validate: true });
  const add = (n: number): string =>
    `insert into trace_blocks (job_id, first_seq, last_seq, generation, phase, worker_id, line_count, traces)
     values ('${jobId}', ${n}, ${n}, 1, 0, gen_random_uuid(), 1, '{"seq":${n},"attempt":1,"outcome":"done","agoMs":0,` +
    `"durationMs":0,"log":[{"atMs":0,"level":"info","message":"late","fields":{}}]}')`;
  const from = await client.listLogs({ jobId, follow: true });
  expect(from.items.map(({ message }) => message)).toEqual(['first', 'second']);
  const slow = new pg.Client({ connectionString: database.url });
  await slow.connect();
  try {
    await slow.query('begin');
    await slow.query(add(5));
    await database.query(add(6));
    const between = await client.listLogs({ jobId, follow: true, cursor: from.next! });
    expect(between.items).toEqual([]);
    const all = await client.listLogs({ jobId, cursor: from.next! });
    expect(all.items.map(({ seq }) => seq)).toEqual([6]);
    await slow.query('commit');
    // Transactions of other tests may be open for a moment.
    const seqs: number[] = [];
    let cursor = between.next!;
    await expect
      .poll(async () => {
        const page = await client.listLogs({ jobId, follow: true, cursor });
        cursor = page.next!;
        seqs.push(...page.items.map(({ seq }) => seq));
        return seqs;
      })
      .toEqual([5, 6]);
  } finally {
    await slow.end();
  }
});

test('requests of context.fetch are in the trace of an attempt that is stored anyway', async () => {
  const { url } = await startTestApi(database.url);
  const host = new URL(url).host;
  const jobId = await finished(
    [
      async ({ n }, { fetch, log }) => {
        await fetch(`${url}/api/v1/health?secret=1`, { accept: [404] });
        if (n === 1) log('asked');
        if (n === 2) await fetch(`${url}/api/v1/jobs/none`, { method: 'GET' });
        return { n };
      },
    ],
    [{ n: 0 }, { n: 1 }, { n: 2 }],
  );
  expect(await storedTraces(jobId)).toBe(2);
  const [asked] = await traceOf(jobId, 1);
  expect(asked!.fetches).toMatchObject([{ method: 'GET', url: `${host}/api/v1/health` }]);
  const failed = (await traceOf(jobId, 2)).at(-1)!;
  expect(failed).toMatchObject({ outcome: 'error', fetches: [{}, { url: `${host}/api/v1/jobs/none` }] });
  expect(failed.fetches[1]!.status).toBeGreaterThanOrEqual(400);
  expect(failed.error).toContain(`${host} answered 4`);
  const client = createClient({ baseUrl: url, validate: true });
  expect((await client.getItemTrace({ jobId, seq: 1 })).attempts[0]!.fetches).toHaveLength(1);
});

test('the log and fetch of a runMany call are stored with its first row', async () => {
  const { url } = await startTestApi(database.url);
  rowmill = await openRowmill({ databaseUrl: database.url });
  const pipeline = definePipeline({
    name: `traced-${newId()}`,
    phases: [
      {
        name: 'many',
        batch: { maxItems: 10, maxWaitMs: 1000 },
        runMany: async (items, { log, fetch }) => {
          await fetch(`${url}/`, { accept: [401, 404] });
          log('asked for all', { rows: items.length });
          items[2]!.log('mine');
          return items.map(({ seq }) => ({ seq }));
        },
      },
    ],
  });
  const jobId = await rowmill.submit(pipeline, [{ n: 0 }, { n: 1 }, { n: 2 }], { outputs: [] });
  const worker = await rowmill.startWorker([pipeline]);
  await rowmill.whenFinished(jobId);
  await worker.stop();
  const [first] = await traceOf(jobId, 0);
  expect(first!.log).toMatchObject([{ message: 'asked for all', fields: { rows: 3 } }]);
  expect(first!.fetches).toHaveLength(1);
  expect((await traceOf(jobId, 1))[0]!.log).toEqual([]);
  expect((await traceOf(jobId, 2))[0]!.log).toMatchObject([{ message: 'mine' }]);
  expect(await storedTraces(jobId)).toBe(2);
});

test('an attempt that waited for a rate limit says so, and others waited for a slot', async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  const name = `limited-${newId()}`;
  const pipeline = definePipeline({
    name,
    resources: { [name]: { concurrency: 1 } },
    phases: [
      {
        name: 'limited',
        resources: [name],
        run: (row, { log }) => {
          log('ran');
          return row as object;
        },
      },
    ],
  });
  const jobId = await rowmill.submit(pipeline, [{}, {}, {}, {}], { outputs: [] });
  const worker = await rowmill.startWorker([pipeline]);
  await rowmill.whenFinished(jobId);
  await worker.stop();
  const { url } = await startTestApi(database.url);
  const client = createClient({ baseUrl: url, validate: true });
  const waits = await Promise.all(
    [0, 1, 2, 3].map(async (seq) => (await client.getItemTrace({ jobId, seq })).attempts[0]!),
  );
  expect(waits.map(({ waitedFor }) => waitedFor)).toContain('rate_limit');
  for (const { waitedFor, waitedMs } of waits)
    if (waitedFor === 'rate_limit') expect(waitedMs).toBeGreaterThanOrEqual(0);
});

test('a pipeline in a test and a try have context.fetch', async () => {
  const { url } = await startTestApi(database.url);
  rowmill = await openRowmill({ databaseUrl: database.url });
  const pipeline = definePipeline({
    name: 'fetching',
    phases: [
      {
        name: 'ask',
        run: async (_, { fetch }) => ({ status: (await fetch(`${url}/none`, { accept: [404] })).status }),
      },
    ],
  });
  const { results } = await runPipeline(pipeline, [{}]);
  expect(results).toMatchObject([{ status: 'DONE', result: { status: 404 } }]);
  const settings = { ...(contextOf(rowmill).settings as Settings) };
  const trace = await tryRow({
    pipeline,
    input: '{}',
    params: {},
    seq: 0,
    start: { phase: 0, outputs: {} },
    settings,
    blobs: contextOf(rowmill).blobs,
    once: true,
    crashed: new Promise(() => {}),
  });
  expect(trace.calls[0]!.fetches).toMatchObject([{ method: 'GET', status: 404 }]);
});
