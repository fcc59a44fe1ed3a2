// Handlers that keep the event loop of their process to themselves: for too long, and for not quite too long.
import { afterEach, expect, test } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { killAll } from '../support/child-process.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { CHAOS_SETTINGS, callsPerSeq, chaosPipeline, countEvents, startChaosWorker } from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob } from './check-finished-job.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
afterEach(async () => {
  await killAll();
  await rowmill.close();
});

async function submit(pipeline: string, items: { n: number; block: boolean }[]): Promise<string> {
  rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  return rowmill.submit(chaosPipeline(pipeline), items);
}

test('a loop that is stuck for several leases loses its items to another worker', async () => {
  database.keepIfFailed();
  const items = Array.from({ length: 12 }, (_, n) => ({ n, block: n === 4 }));
  const jobId = await submit('stuck', items);
  const shared = { databaseUrl: database.url, pipeline: 'stuck' };
  const stuck = startChaosWorker({
    ...shared,
    handler: { kind: 'block', ms: 4 * CHAOS_SETTINGS.lockFloorMs },
    concurrency: 1,
    settings: { claimMin: items.length, watchdogMs: 300 },
  });
  await stuck.waitFor('call', ({ seq }) => seq === 4);
  const helper = startChaosWorker(shared);
  await rowmill.whenFinished(jobId, AbortSignal.timeout(20_000));
  expect(
    callsPerSeq(helper).has(4) && !stuck.events.some(({ event, seq }) => event === 'return' && seq === 4),
    'void: the item was over before it was taken away',
  ).toBe(true);
  const before = await database.query('select * from results where job_id = $1 order by seq', [jobId]);

  await stuck.waitFor('loop.stuck');
  await stuck.waitFor('lease.lost');
  await stuck.waitFor('flush.fenced');
  expect(await database.query('select * from results where job_id = $1 order by seq', [jobId])).toEqual(
    before,
  );
  await checkFinishedJob(database, jobId, { counts: { DONE: items.length } });
  expect(await attemptsOf(database, jobId)).toEqual([1]);
});

test('a loop that is blocked for half a lease again and again keeps its lease', async () => {
  database.keepIfFailed();
  const leaseMs = 3000;
  const items = Array.from({ length: 4 }, (_, n) => ({ n, block: true }));
  const jobId = await submit('blocked', items);
  const settings = { lockFloorMs: leaseMs, lockCapMs: leaseMs, watchdogMs: leaseMs, claimMin: items.length };
  const shared = {
    databaseUrl: database.url,
    pipeline: 'blocked',
    handler: { kind: 'block', ms: leaseMs / 2 } as const,
    concurrency: 1,
    settings,
  };
  const busy = startChaosWorker(shared);
  await busy.waitFor('call');
  const idle = startChaosWorker(shared);
  await idle.waitFor('ready');
  await rowmill.whenFinished(jobId, AbortSignal.timeout(20_000));
  for (const worker of [busy, idle]) {
    for (const event of ['lease.lost', 'lease.rescued', 'flush.fenced', 'loop.stuck']) {
      expect(countEvents(worker, event), event).toBe(0);
    }
  }
  expect([...callsPerSeq(busy, idle).values()]).toEqual(items.map(() => 1));
  expect(callsPerSeq(busy).size, 'void: the idle worker did the work').toBe(items.length);
  await checkFinishedJob(database, jobId, { counts: { DONE: items.length } });
});
