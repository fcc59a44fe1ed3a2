// Handlers that block the event loop of their process: for too long, and for not quite too long.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { newId } from '../../src/platform/random.ts';
import { killAll } from '../support/child-process.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  callsPerSeq,
  chaosPipeline,
  countEvents,
  LONG_LEASES,
  startChaosWorker,
} from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob } from './check-finished-job.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-blocked-'));
let rowmill: Rowmill;
afterEach(async () => {
  await killAll();
  await rowmill.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function submit(pipeline: string, items: { n: number; block: boolean }[]): Promise<string> {
  rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  return rowmill.submit(chaosPipeline(pipeline), items);
}

test('a worker whose event loop is blocked for longer than its lease loses its items to another worker', async () => {
  database.keepIfFailed();
  const items = Array.from({ length: 12 }, (_, n) => ({ n, block: n === 4 }));
  const jobId = await submit('stuck', items);
  const shared = { databaseUrl: database.url, pipeline: 'stuck' };
  const untilFile = join(folder, newId());
  const stuck = startChaosWorker({
    ...shared,
    handler: { kind: 'block', untilFile },
    concurrency: 1,
    settings: { claimMin: items.length, watchdogMs: 300 },
  });
  await stuck.waitFor('call', ({ seq }) => seq === 4);
  const helper = startChaosWorker({ ...shared, settings: LONG_LEASES });
  await whenFinished(rowmill, jobId);
  expect(callsPerSeq(helper).has(4), 'void: the item was not taken away').toBe(true);
  const before = await database.query('select * from results where job_id = $1 order by seq', [jobId]);

  writeFileSync(untilFile, '');
  await stuck.waitFor('loop.stuck');
  await stuck.waitFor('lease.lost');
  await stuck.waitFor('flush.fenced');
  expect(await database.query('select * from results where job_id = $1 order by seq', [jobId])).toEqual(
    before,
  );
  await checkFinishedJob(database, jobId, { counts: { DONE: items.length } });
  expect(await attemptsOf(database, jobId)).toEqual([1]);
});

test('a worker whose event loop is blocked repeatedly for half a lease keeps its lease', async () => {
  database.keepIfFailed();
  // Long enough for a starved machine, which adds its own pauses to the handler's.
  const leaseMs = 10_000;
  const items = Array.from({ length: 3 }, (_, n) => ({ n, block: true }));
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
  await whenFinished(rowmill, jobId);
  for (const worker of [busy, idle]) {
    for (const event of ['lease.lost', 'lease.rescued', 'flush.fenced', 'loop.stuck']) {
      expect(countEvents(worker, event), event).toBe(0);
    }
  }
  expect([...callsPerSeq(busy, idle).values()]).toEqual(items.map(() => 1));
  expect(callsPerSeq(busy).size, 'void: the idle worker did the work').toBe(items.length);
  await checkFinishedJob(database, jobId, { counts: { DONE: items.length } });
});
