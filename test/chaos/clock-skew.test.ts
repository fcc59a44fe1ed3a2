// Workers whose clocks are two hours apart. Leases follow the database's clock, so the skew has no effect.
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { sample } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';
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

const database = useTestDatabase();
afterEach(killAll);

const ITEMS = 8;
const HOUR_MS = 3_600_000;
// Long enough for a starved machine: leases of one second are lost there without any skew.
const LEASE_MS = 10_000;

function startShifted(shiftMs: number, pipeline: string): Child {
  return startChaosWorker({
    databaseUrl: database.url,
    pipeline,
    // Longer than a lease: an item completes only if its lease was renewed.
    handler: { kind: 'work', minMs: 1.2 * LEASE_MS },
    concurrency: ITEMS,
    settings: { lockFloorMs: LEASE_MS, lockCapMs: LEASE_MS, claimMin: ITEMS },
    nodeArgs: ['--import', fileURLToPath(new URL('shift-date.mjs', import.meta.url))],
    env: { SHIFT_DATE_MS: String(shiftMs) },
  });
}

const HOLDERS = [
  { holder: 'an hour ahead', shiftMs: HOUR_MS },
  { holder: 'an hour behind', shiftMs: -HOUR_MS },
];

test.each(sample(HOLDERS, 1))(
  'a worker whose clock is $holder keeps its items although the other clock is two hours off',
  async ({ shiftMs }) => {
    database.keepIfFailed();
    const rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
    const pipeline = `skew-${shiftMs}`;
    const jobId = await rowmill.submit(chaosPipeline(pipeline), numberedItems(ITEMS));
    const holder = startShifted(shiftMs, pipeline);
    await holder.waitFor('call');
    const rival = startShifted(-shiftMs, pipeline);
    const clocks = await Promise.all([holder.waitFor('ready'), rival.waitFor('ready')]);
    const apartMs = Math.abs((clocks[0].wallClockMs as number) - (clocks[1].wallClockMs as number));
    expect(apartMs, 'void: the clocks were not shifted').toBeGreaterThan(1.9 * HOUR_MS);

    const leases = await database.query<{ left_ms: number }>(
      `select extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as left_ms
     from spans where job_id = $1 and worker_id is not null`,
      [jobId],
    );
    expect(leases.length, 'void: nothing was held').toBeGreaterThan(0);
    for (const { left_ms } of leases) {
      expect(left_ms).toBeGreaterThan(0);
      expect(left_ms).toBeLessThanOrEqual(LEASE_MS);
    }

    await whenFinished(rowmill, jobId);
    for (const worker of [holder, rival]) {
      for (const event of ['lease.lost', 'lease.rescued', 'flush.fenced']) {
        expect(countEvents(worker, event), event).toBe(0);
      }
    }
    expect([...callsPerSeq(holder).values()]).toEqual(numberedItems(ITEMS).map(() => 1));
    expect(callsPerSeq(rival).size).toBe(0);
    await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
    expect(await attemptsOf(database, jobId)).toEqual([1]);

    const [times] = await database.query<{ sane: boolean }>(
      `select bool_and(finished_at between now() - interval '30 minutes' and now()) as sane from results where job_id = $1`,
      [jobId],
    );
    expect(times!.sane, 'times shown come from the database').toBe(true);
    await rowmill.close();
  },
);
