// The server commits and the connection dies before the client receives the reply. The client must check what happened
// instead of guessing: nothing is done twice and nothing is left behind.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import type { RowmillWorker } from '../../src/worker/worker.ts';
import { type FaultProxy, type FiredFault, startFaultProxy } from '../support/fault-proxy.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { CHAOS_SETTINGS, numberedItems } from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob } from './check-finished-job.ts';

const database = useTestDatabase();
const ITEMS = 60;
// An expiring lease would hide the bugs tested here, so every test finishes long before that.
const SETTINGS = {
  ...CHAOS_SETTINGS,
  lockFloorMs: 60_000,
  lockCapMs: 60_000,
  claimMin: 20,
  claimMax: 20,
  flushMaxItems: 10,
  flushMaxDelayMs: 5,
  ingestMaxRows: 20,
};

let proxy: FaultProxy;
let rowmill: Rowmill;
let worker: RowmillWorker | undefined;
let calls: Map<number, number>;
let pipeline: Pipeline;
/** The first results with a column are flushed in a transaction. Without any column, a flush is one statement. */
let newColumns: boolean;

beforeEach(async (context) => {
  newColumns = false;
  proxy = await startFaultProxy({ target: database.url });
  rowmill = await openRowmill({ databaseUrl: proxy.url, settings: SETTINGS });
  calls = new Map();
  pipeline = definePipeline({
    name: `lost-${context.task.id}`,
    phases: [
      {
        name: 'only',
        async run(input: Record<string, unknown>, { seq }) {
          calls.set(seq, (calls.get(seq) ?? 0) + 1);
          return newColumns ? { n: input.n } : undefined;
        },
      },
    ],
  });
});

afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await rowmill.close();
  await proxy.stop();
});

async function startWorker(): Promise<void> {
  worker = await rowmill.startWorker([pipeline], { log: silentLogger });
}

async function expectWholeAndOnce(jobId: string): Promise<void> {
  await whenFinished(rowmill, jobId);
  await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
  expect(await attemptsOf(database, jobId)).toEqual([1]);
  expect([...calls.values()].every((count) => count === 1)).toBe(true);
  expect(calls.size).toBe(ITEMS);
}

async function toldOf(jobId: string): Promise<string[]> {
  const rows = await database.query<{ kind: string }>(
    'select kind from job_events where job_id = $1 order by event_id',
    [jobId],
  );
  return rows.map(({ kind }) => kind);
}

const has = (text: string) => (sql: string) => sql.includes(text);

interface Cut {
  name: string;
  reply: RegExp;
  cut: (proxy: FaultProxy) => Promise<FiredFault>;
  newColumns?: boolean;
}

const CUTS: Cut[] = [
  {
    name: 'a flush in one statement',
    reply: /SELECT/,
    cut: (p) => p.cutOnReply({ match: has('as all_held from held'), times: 3 }),
  },
  {
    name: 'a flush in a transaction',
    reply: /COMMIT/,
    cut: (p) => p.cutAfterCommit({ match: has('copy result_rows'), times: 3 }),
    newColumns: true,
  },
  {
    name: 'a claim',
    reply: /SELECT/,
    cut: (p) => p.cutOnReply({ match: has('head as materialized'), times: 2 }),
  },
  { name: 'the start of a job', reply: /INSERT/, cut: (p) => p.cutOnReply({ match: has('set started_at') }) },
  {
    name: 'the move to finalizing',
    reply: /UPDATE 1/,
    // Attempts after earlier flushes change no row.
    cut: (p) => p.cutOnReply({ match: has(`set state = 'FINALIZING'`), reply: /UPDATE 1/ }),
  },
  {
    name: 'the finalize lease',
    reply: /UPDATE 1/,
    cut: (p) => p.cutOnReply({ match: has('set finalize_worker_id = $2') }),
  },
  {
    name: 'the summary',
    reply: /COMMIT/,
    cut: (p) => p.cutAfterCommit({ match: has('insert into summaries') }),
  },
];

test.each(CUTS)(
  'every item runs once if the reply to $name is lost',
  async ({ cut, reply, newColumns: columns = false }) => {
    database.keepIfFailed();
    newColumns = columns;
    const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
    const fired = cut(proxy);
    await startWorker();
    expect((await fired).reply).toMatch(reply);
    await expectWholeAndOnce(jobId);
  },
);

test('a reprocess whose reply is lost queues its rows once and returns its result', async () => {
  database.keepIfFailed();
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  await startWorker();
  await rowmill.whenFinished(jobId);
  const fired = proxy.cutAfterCommit({ match: has('set generation = generation + 1') });
  expect(await rowmill.reprocess(jobId, { statuses: 'all' })).toMatchObject({
    generation: 2,
    selected: ITEMS,
  });
  expect((await fired).reply).toMatch(/COMMIT/);
  expect(await rowmill.whenFinished(jobId)).toMatchObject({ generation: 2, counts: { DONE: ITEMS } });
  expect([...calls.values()].every((count) => count === 2)).toBe(true);
});

test('every item runs once if the connection of a flush dies before its commit, three times', async () => {
  database.keepIfFailed();
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  newColumns = true;
  const fired = proxy.cutBeforeCommit({ match: has('copy result_rows'), times: 3 });
  await startWorker();
  await fired;
  await expectWholeAndOnce(jobId);
});

test('every item runs once if the reply to the rows of a flush is lost in the middle of its transaction', async () => {
  database.keepIfFailed();
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  newColumns = true;
  const fired = proxy.cutOnReply({ match: has('copy result_rows'), times: 2 });
  await startWorker();
  await fired;
  await expectWholeAndOnce(jobId);
});

test('an ingest batch is stored once if the replies to its rows and its commit are lost', async () => {
  database.keepIfFailed();
  const { jobId } = await rowmill.createJob(pipeline);
  const atRows = proxy.cutOnReply({ match: has('copy items') });
  const atCommit = proxy.cutAfterCommit({ match: has('copy items'), times: 2 });
  expect(await rowmill.addItems(jobId, numberedItems(ITEMS))).toBe(ITEMS);
  expect((await atRows).reply).toMatch(/COPY/);
  expect((await atCommit).reply).toMatch(/COMMIT/);
  await rowmill.sealJob(jobId);
  const inputs = await database.query(
    `select (input ->> 'n')::int as n from items where job_id = $1 order by seq`,
    [jobId],
  );
  expect(inputs).toEqual(numberedItems(ITEMS));
  await startWorker();
  await expectWholeAndOnce(jobId);
});

test('a job is created once if the reply is lost', async () => {
  database.keepIfFailed();
  const fired = proxy.cutAfterCommit({ match: has('insert into jobs') });
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  expect((await fired).reply).toMatch(/COMMIT/);
  expect(await toldOf(jobId)).toEqual(['job.created', 'job.sealed']);
  expect(await rowmill.job(jobId)).toMatchObject({ itemCount: ITEMS, state: 'QUEUED' });
  await startWorker();
  await expectWholeAndOnce(jobId);
});

test('a job is sealed once if the reply is lost', async () => {
  database.keepIfFailed();
  const fired = proxy.cutAfterCommit({ match: has('set sealed_at = now()') });
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  expect((await fired).reply).toMatch(/COMMIT/);
  expect(await toldOf(jobId)).toEqual(['job.created', 'job.sealed']);
  await startWorker();
  await expectWholeAndOnce(jobId);
});

test('a pause and a resume whose replies are lost have one event and one audit row each', async () => {
  database.keepIfFailed();
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  const pause = proxy.cutAfterCommit({ match: has(`set state = 'PAUSED'`) });
  await rowmill.pause(jobId);
  expect((await pause).reply).toMatch(/COMMIT/);
  const resume = proxy.cutAfterCommit({ match: has('paused_because = null') });
  await rowmill.resume(jobId);
  expect((await resume).reply).toMatch(/COMMIT/);
  expect(await toldOf(jobId)).toEqual(['job.created', 'job.sealed', 'job.paused', 'job.resumed']);
  const audit = await database.query('select action from audit where subject = $1 order by audit_id', [
    `job ${jobId}`,
  ]);
  expect(audit.map(({ action }) => action)).toEqual(['job.create', 'job.seal', 'job.pause', 'job.resume']);
  await startWorker();
  await expectWholeAndOnce(jobId);
});

test('a shutdown returns all items even if the reply is lost', async () => {
  database.keepIfFailed();
  const never = new Promise(() => {});
  const stubborn = definePipeline({
    name: `stubborn-${crypto.randomUUID()}`,
    phases: [{ name: 'only', run: () => never }],
  });
  const jobId = await rowmill.submit(stubborn, numberedItems(ITEMS));
  const claimed = contextOf(rowmill).events.next('claim.made');
  worker = await rowmill.startWorker([stubborn], { log: silentLogger });
  await claimed;
  const fired = proxy.cutOnReply({ match: has('set worker_id = null, token = null') });
  await worker.stop({ drainMs: 50 });
  worker = undefined;
  expect((await fired).reply).toMatch(/UPDATE 1/);
  const held = await database.query('select 1 from spans where job_id = $1 and worker_id is not null', [
    jobId,
  ]);
  expect(held).toEqual([]);
});

test('every item runs once if all connections are reset after every flush', async () => {
  database.keepIfFailed();
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  const { events, settings } = contextOf(rowmill);
  let resets = 0;
  events.on('flush.committed', () => {
    resets += proxy.resetAll();
  });
  await startWorker();
  // The connection that waits for the job must not be reset.
  await rowmill.close();
  rowmill = await openRowmill({ databaseUrl: database.url, settings, events });
  await expectWholeAndOnce(jobId);
  expect(resets, 'void: no connection was reset').toBeGreaterThan(5);
});
