// The database goes away under a running worker and comes back: the worker continues without a restart and loses
// nothing.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { depth } from '../support/depth.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  callsPerSeq,
  chaosPipeline,
  countEvents,
  numberedItems,
  startChaosWorker,
} from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob } from './check-finished-job.ts';

/** Work for several seconds: on a slow machine a strike must not come too late. */
const ITEMS_PER_STRIKE = 500;
let folder: string;
let server: EmbeddedPostgres;

// A separate server: stopping it must not disturb the other test files.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowmill-outage-'));
  server = await startEmbeddedPostgres({ dataDir: folder });
});
afterEach(killAll);
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

async function serverAnswers(): Promise<void> {
  const deadlineMs = performance.now() + 45_000;
  for (;;) {
    try {
      await query('select 1');
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
  }
}

function workerSessions(): Promise<{ pid: number; application_name: string }[]> {
  return query(`select pid, application_name from pg_stat_activity
                where application_name in ('rowmill claim', 'rowmill flush', 'rowmill control', 'rowmill lease keeper', 'rowmill listener')`);
}

/** Runs a job, strikes `strikes` times while it runs, and checks that the same process finished it. */
async function strikeDuringJob(name: string, strikes: number, strike: () => Promise<void>): Promise<Child> {
  const pipeline = chaosPipeline(name);
  const items = strikes * ITEMS_PER_STRIKE;
  let rowmill = await openRowmill({ databaseUrl: server.url, settings: CHAOS_SETTINGS });
  const jobId = await rowmill.submit(pipeline, numberedItems(items));
  await rowmill.close();
  const worker = startChaosWorker({
    databaseUrl: server.url,
    pipeline: name,
    handler: { kind: 'work', minMs: 10, maxMs: 30 },
    concurrency: 4,
    // The lease must outlive the outage, otherwise items are rightly run a second time.
    settings: { claimMin: 20, claimMax: 20, flushMaxDelayMs: 20, lockFloorMs: 30_000, lockCapMs: 30_000 },
  });
  for (let struck = 1; struck <= strikes; struck += 1) {
    await serverAnswers();
    const before = countEvents(worker, 'flush.committed');
    let seen = 0;
    await worker.waitFor('flush.committed', () => ++seen > before);
    const openItems = await query('select 1 from spans where job_id = $1', [jobId]);
    expect(openItems.length, `void: the work was finished before strike ${struck}`).toBeGreaterThan(0);
    await strike();
  }
  await serverAnswers();
  rowmill = await openRowmill({ databaseUrl: server.url, settings: CHAOS_SETTINGS });
  await whenFinished(rowmill, jobId);
  await checkFinishedJob({ query }, jobId, { counts: { DONE: items } });
  expect(await attemptsOf({ query }, jobId)).toEqual([1]);
  expect(countEvents(worker, 'ready')).toBe(1);
  await rowmill.close();
  return worker;
}

test('a worker continues after all its sessions are terminated, repeatedly', async () => {
  const worker = await strikeDuringJob('terminated', depth(2, 4), async () => {
    const sessions = await workerSessions();
    expect(sessions, 'void: there was nothing to terminate').not.toEqual([]);
    await query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [
      sessions.map(({ pid }) => pid),
    ]);
  });
  expect([...callsPerSeq(worker).values()].every((count) => count === 1)).toBe(true);
});

test('a worker continues after the server is stopped and started', async () => {
  let refused = false;
  const worker = await strikeDuringJob('restarted', 1, async () => {
    const { url } = server;
    await server.stop();
    await query('select 1').catch(() => {
      refused = true;
    });
    server = await startEmbeddedPostgres({ dataDir: folder });
    expect(server.url).toBe(url);
  });
  expect(refused, 'void: the server did not stop').toBe(true);
  const troubled = countEvents(worker, 'flush.rolled_back') + countEvents(worker, 'claim.failed');
  expect(troubled, 'void: the worker did not notice').toBeGreaterThan(0);
  expect([...callsPerSeq(worker).values()].every((count) => count === 1)).toBe(true);
});

test('a worker continues after a backend is killed with SIGKILL and the server recovers', async () => {
  const worker = await strikeDuringJob('crashed', 2, async () => {
    const sessions = await workerSessions();
    const bulk = sessions.find(({ application_name }) => application_name === 'rowmill flush');
    if (!bulk) throw new Error('void: the worker has no connection');
    // The server ends all sessions when it notices the kill. Until this one is closed it still answers normally.
    const witness = new pg.Client({ connectionString: server.url });
    await witness.connect();
    const noticed = new Promise<void>((resolve) => {
      witness.on('error', () => {});
      witness.on('end', () => resolve());
    });
    // A backend of the server that this file started.
    process.kill(bulk.pid, 'SIGKILL');
    await noticed;
  });
  const troubled = countEvents(worker, 'flush.rolled_back') + countEvents(worker, 'claim.failed');
  expect(troubled, 'void: the worker did not notice').toBeGreaterThan(0);
});
