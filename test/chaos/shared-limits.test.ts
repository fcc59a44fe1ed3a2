// Four processes share the limits of a service, measured at the service, while one of them is killed. Nothing here
// depends on the clock of this machine: calls are counted and compared with the starts that the database granted. The
// spacing of calls is tested in test/simulation/slow-workers.test.ts, the utilisation of a limit in bench/limits.ts.
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
/** Long enough for a busy machine: if a living worker is taken for dead, its running calls exceed the limit. */
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
    // The default leases: items held by a killed process are not the subject here.
    settings: { lockFloorMs: 30_000, lockCapMs: 30_000, claimMax: 200, resourceLeaseMs: LEASE_MS },
  });
}

async function startAll(pipeline: string, resources: Record<string, DeclaredLimits>, isKeyed = false) {
  const workers = Array.from({ length: PROCESSES }, () => startWorker(pipeline, resources, { isKeyed }));
  await Promise.all(workers.map((worker) => worker.waitFor('ready')));
  return workers;
}

const manyRows = () => Array.from({ length: 20_000 }, (_, n) => ({ n }));

test('concurrency: never above the declared limit; permits of a killed process return when its lease expires', async () => {
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
  // Read before the cancel cuts the calls off: the server notices a closed connection later than the client closes it.
  const most = server.most();
  await rowmill.cancel(jobId);
  expect(most).toBe(12);
  await rowmill.close();
});

test.runIf(isDeep)(
  'rate: never above the declared limit, even if a process is killed and replaced; a changed limit holds',
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
    // Starts granted by the previous rate are used or dropped by then.
    const { state } = await readResource(database, 'perSecond');
    await until(async () => (await databaseMs(database)) > state.nextStartMs);
    const loweredMs = await databaseMs(database);
    const callsBefore = server.calls.length;
    await server.whenCalled(callsBefore + 100);
    // One call of each process may have been in flight.
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
  'fifty hosts with a delay each: none is called too soon, and a host with many rows does not delay the others',
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
    // All rows of the other hosts run while the first call of the hot host is held.
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
