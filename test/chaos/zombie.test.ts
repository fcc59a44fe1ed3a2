// A worker is frozen or cut off for longer than its lease, and returns after another worker has done its work.
import { afterEach, expect, test } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  chaosPipeline,
  countEvents,
  LONG_LEASES,
  numberedItems,
  startChaosWorker,
} from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob, heldItems } from './check-finished-job.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
afterEach(async () => {
  await killAll();
  await rowmill.close();
});

const ITEMS = 24;
const RETURNED = 10;
const LEASE_MS = CHAOS_SETTINGS.lockFloorMs;
/** All items in one lease, and no flush before all outcomes are there. */
const ONE_LEASE = { claimMin: ITEMS, claimMax: ITEMS, flushMaxDelayMs: 60_000 };

async function submit(pipelineName: string): Promise<string> {
  rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  return rowmill.submit(chaosPipeline(pipelineName), numberedItems(ITEMS));
}

function startThief(pipeline: string): Child {
  return startChaosWorker({ databaseUrl: database.url, pipeline, settings: LONG_LEASES });
}

function resultsOf(jobId: string): Promise<Record<string, unknown>[]> {
  return database.query('select * from results where job_id = $1 order by seq', [jobId]);
}

/** Starts a worker that holds every item: ten outcomes not yet written, the others running or queued. */
async function startHolder(pipeline: string, databaseUrl = database.url): Promise<Child> {
  const holder = startChaosWorker({
    databaseUrl,
    pipeline,
    handler: { kind: 'hold', from: RETURNED },
    concurrency: 4,
    settings: ONE_LEASE,
  });
  await holder.waitFor('return', ({ seq }) => seq === RETURNED - 1);
  await holder.waitFor('call', ({ seq }) => (seq as number) >= RETURNED);
  return holder;
}

test('a worker that was frozen for three leases changes nothing when it wakes up', async () => {
  database.keepIfFailed();
  const jobId = await submit('frozen');
  const zombie = await startHolder('frozen');
  zombie.kill('SIGSTOP');
  expect(await heldItems(database, jobId), 'void: the zombie held nothing').toBe(ITEMS);
  const frozenAtMs = performance.now();

  const thief = startThief('frozen');
  await whenFinished(rowmill, jobId);
  const before = await resultsOf(jobId);
  // The length of the freeze is the fault, not a wait for an event.
  const leftMs = frozenAtMs + 3 * LEASE_MS - performance.now();
  await new Promise((resolve) => setTimeout(resolve, leftMs));

  zombie.kill('SIGCONT');
  const fenced = await zombie.waitFor('flush.fenced');
  expect(fenced.items, 'void: the zombie had nothing to write').toBe(RETURNED);
  await zombie.waitFor('lease.lost');
  expect(await resultsOf(jobId)).toEqual(before);
  expect(before.every((row) => (row.result as { pid: number }).pid === thief.pid)).toBe(true);
  await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
  expect(await attemptsOf(database, jobId)).toEqual([1]);

  // It is a normal worker again.
  const nextId = await rowmill.submit(chaosPipeline('frozen'), numberedItems(RETURNED));
  thief.kill('SIGTERM');
  await thief.exited;
  await whenFinished(rowmill, nextId);
  await checkFinishedJob(database, nextId, { counts: { DONE: RETURNED } });
});

test('a worker that loses a lease with mostly queued items claims again', async () => {
  database.keepIfFailed();
  const jobId = await submit('parked');
  // One slot: 23 of 24 items are queued, so the worker does not look for more when the lease is lost.
  const zombie = startChaosWorker({
    databaseUrl: database.url,
    pipeline: 'parked',
    handler: { kind: 'hold', from: 0 },
    concurrency: 1,
    settings: ONE_LEASE,
  });
  await zombie.waitFor('call');
  zombie.kill('SIGSTOP');
  const thief = startThief('parked');
  await whenFinished(rowmill, jobId);
  thief.kill('SIGTERM');
  await thief.exited;
  zombie.kill('SIGCONT');
  await zombie.waitFor('lease.lost');

  const claims = countEvents(zombie, 'claim.made');
  await rowmill.submit(chaosPipeline('parked'), numberedItems(ITEMS));
  let seen = 0;
  await zombie.waitFor('claim.made', () => ++seen > claims);
});

test('a worker that was frozen inside its flush does not keep its items forever', async () => {
  database.keepIfFailed();
  const jobId = await submit('frozen-in-flush');
  const zombie = startChaosWorker({
    databaseUrl: database.url,
    pipeline: 'frozen-in-flush',
    settings: { claimMin: ITEMS, claimMax: ITEMS },
    faultPoints: 'flush.before_commit=stop',
  });
  await zombie.waitFor('fault');
  expect(await heldItems(database, jobId), 'void: the zombie held nothing').toBe(ITEMS);

  startThief('frozen-in-flush');
  await whenFinished(rowmill, jobId);
  const before = await resultsOf(jobId);
  zombie.kill('SIGCONT');
  await zombie.waitFor('lease.lost');
  expect(await resultsOf(jobId)).toEqual(before);
  await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
});

test('a flush delayed by the network past its lease is fenced by the database', async () => {
  database.keepIfFailed();
  const jobId = await submit('cut-off');
  const proxy = await startFaultProxy({ target: database.url });
  const heldUp = proxy.blackholeAt((sql) => sql.includes('held as materialized'));
  const zombie = startChaosWorker({
    databaseUrl: proxy.url,
    pipeline: 'cut-off',
    handler: { kind: 'hold', from: RETURNED },
    concurrency: 4,
    settings: { ...ONE_LEASE, flushMaxItems: RETURNED },
  });
  await heldUp;
  expect(await heldItems(database, jobId), 'void: the zombie held nothing').toBe(ITEMS);

  startThief('cut-off');
  await whenFinished(rowmill, jobId);
  const before = await resultsOf(jobId);
  expect(countEvents(zombie, 'flush.fenced'), 'void: the zombie already knew').toBe(0);
  proxy.heal();
  await zombie.waitFor('lease.lost');
  const fenced = await zombie.waitFor('flush.fenced');
  expect(fenced.items).toBe(RETURNED);
  expect(await resultsOf(jobId)).toEqual(before);
  await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
  const [ledger] = await database.query<{ fenced: number }>(
    'select sum(fenced)::int as fenced from ledger where job_id = $1',
    [jobId],
  );
  expect(ledger!.fenced).toBe(RETURNED);
  zombie.kill('SIGKILL');
  await zombie.exited;
  await proxy.stop();
});
