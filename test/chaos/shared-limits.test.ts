// Limits of a service that four processes share, seen from the service, while one of them is killed. Nothing here is
// measured by the clock of this machine: calls are counted, and compared with the places that the database gave out. How
// close calls come to each other is in test/simulation/slow-workers.test.ts, how much of a limit is used in bench/limits.ts.
import { afterEach, expect, test } from 'vitest';
import type { DeclaredLimits } from '../../src/core/limits/resource-limits.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { type CountingServer, startCountingServer } from '../support/counting-server.ts';
import { depth, isDeep, LONG } from '../support/depth.ts';
import {
  databaseMs,
  expectPlaces,
  holdersOf,
  readResource,
  until,
  whenHeard,
} from '../support/resource-row.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { chaosPipeline, startChaosWorker, workerIdOf } from './chaos-worker.ts';

const database = useTestDatabase();
let server: CountingServer;
afterEach(async () => {
  await killAll();
  await server.close();
  await database.query('truncate resources, resource_overrides');
});

const PROCESSES = 4;
/** Long enough for a busy machine: who is taken for dead while its calls go on is one too many. */
const LEASE_MS = 5000;

function startWorker(
  pipeline: string,
  resources: Record<string, DeclaredLimits>,
  options: { isKeyed?: boolean } = {},
): Child {
  return startChaosWorker({
    databaseUrl: database.url,
    pipeline,
    resources,
    ...options,
    handler: { kind: 'fetch', url: server.url },
    concurrency: 20,
    // Leases as they are by default: what a killed process held of the job is not the question here.
    settings: { lockFloorMs: 30_000, lockCapMs: 30_000, claimMax: 200, resourceLeaseMs: LEASE_MS },
  });
}

async function startAll(pipeline: string, resources: Record<string, DeclaredLimits>, isKeyed = false) {
  const workers = Array.from({ length: PROCESSES }, () => startWorker(pipeline, resources, { isKeyed }));
  await Promise.all(workers.map((worker) => worker.waitFor('ready')));
  return workers;
}

const manyRows = () => Array.from({ length: 20_000 }, (_, n) => ({ n }));

test('calls at once: never more than declared; what a killed process held comes back when its lease has ended', async () => {
  server = await startCountingServer(50);
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const pipeline = chaosPipeline('at-once');
  const workers = await startAll(pipeline.name, { atOnce: { concurrency: 12 } });
  const jobId = await rowmill.submit(pipeline, manyRows());
  const victimId = await workerIdOf(workers[0]!);
  await until(async () => (await holdersOf(database, 'atOnce')).length === PROCESSES);
  await server.holdUntil(12);
  const holder = async () => (await readResource(database, 'atOnce')).state.holders[victimId];
  await until(async () => ((await holder())?.held ?? 0) > 0);
  workers[0]!.kill('SIGKILL');
  await workers[0]!.exited;
  const { held, expiresAtMs } = (await holder())!;
  expect(held, 'void: the process that was killed held nothing').toBeGreaterThan(0);
  let freedMs = 0;
  await until(async () => {
    const { nowMs, state } = await readResource(database, 'atOnce');
    freedMs = nowMs;
    return state.holders[victimId] === undefined;
  });
  expect(freedMs).toBeGreaterThanOrEqual(expiresAtMs);
  await server.holdUntil(12);
  // Counted before the calls are cut off by the cancel: a connection that was left is noticed later there than here.
  const most = server.most();
  await rowmill.cancel(jobId);
  expect(most).toBe(12);
  await rowmill.close();
});

test.runIf(isDeep)(
  'calls per second: never more than declared, with a process killed and replaced; a change holds',
  async () => {
    server = await startCountingServer(20);
    const rowmill = await openRowmill({ databaseUrl: database.url });
    const pipeline = chaosPipeline('per-second');
    const resources = { perSecond: { ratePerSecond: 200 } };
    const heard = () => whenHeard(database, 'perSecond', LEASE_MS);
    const workers = await startAll(pipeline.name, resources);
    const startedMs = await databaseMs(database);
    const jobId = await rowmill.submit(pipeline, manyRows());
    await server.whenCalled(400);
    workers[0]!.kill('SIGKILL');
    const replaced = startWorker(pipeline.name, resources);
    await replaced.waitFor('ready');
    await server.whenCalled(server.calls.length + 400);
    await expectPlaces(database, server.calls.length, {
      name: 'perSecond',
      perSecond: 200,
      sinceMs: startedMs,
    });

    await rowmill.setResource('perSecond', { ratePerSecond: 50 });
    await heard();
    // Places of the line before are used up or given up.
    const { state } = await readResource(database, 'perSecond');
    await until(async () => (await databaseMs(database)) > state.nextStartMs);
    const loweredMs = await databaseMs(database);
    const callsBefore = server.calls.length;
    await server.whenCalled(callsBefore + 100);
    // A call of each process may have been on its way.
    const calls = server.calls.length - callsBefore - PROCESSES;
    await expectPlaces(database, calls, { name: 'perSecond', perSecond: 50, sinceMs: loweredMs });

    await rowmill.setResource('perSecond', { paused: true });
    await heard();
    await until(() => server.underWay === 0);
    const callsAtPause = server.calls.length;
    await heard();
    expect(server.calls).toHaveLength(callsAtPause);
    await rowmill.setResource('perSecond', { paused: null, ratePerSecond: null });
    await server.whenCalled(callsAtPause + 400);
    expect((await readResource(database, 'perSecond')).state.perSecond).toBe(200);
    await rowmill.cancel(jobId);
    await rowmill.close();
  },
);

test(
  'fifty hosts, each with a delay: none is called too soon, and one with many rows does not delay the others',
  LONG,
  async () => {
    server = await startCountingServer(10);
    const rowmill = await openRowmill({ databaseUrl: database.url });
    const pipeline = chaosPipeline('hosts');
    await startAll(pipeline.name, { host: { concurrency: 1, minDelayMs: 100 } }, true);
    const [HOT, OTHERS] = [depth(20, 100), depth(98, 294)];
    // Rows of the hot host come first.
    const rows = [
      ...Array.from({ length: HOT }, (_, n) => ({ n, host: 'hot' })),
      ...Array.from({ length: OTHERS }, (_, n) => ({ n, host: `host${n % 49}` })),
    ];
    const answerHot = server.hold('hot');
    const sinceMs = await databaseMs(database);
    const jobId = await rowmill.submit(pipeline, rows);
    // All rows of the others run while the hot host keeps its first call.
    await server.whenCalled(OTHERS + 1);
    expect(server.calls.filter((key) => key === 'hot')).toHaveLength(1);
    answerHot();
    await whenFinished(rowmill, jobId);
    expect(server.calls).toHaveLength(HOT + OTHERS);
    for (const key of new Set(server.calls)) {
      expect(server.most(key), key).toBe(1);
      const calls = server.calls.filter((each) => each === key).length;
      await expectPlaces(database, calls, { name: 'host', key, perSecond: 10, sinceMs });
    }
    await rowmill.close();
  },
);
