// An item that kills every process that runs it. Its neighbours must not be charged, and it must not run forever.
import { afterEach, expect, test } from 'vitest';
import { rescueLeases } from '../../src/engine/flush/rescue-leases.ts';
import { contextOf, openRowmill } from '../../src/open-rowmill.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { killAll } from '../support/child-process.ts';
import { depth, isDeep } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { CHAOS_SETTINGS, chaosPipeline, countEvents, startChaosWorker, workerIdOf } from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob } from './check-finished-job.ts';

const database = useTestDatabase();
afterEach(killAll);

interface PoisonCase {
  how: 'exit 1' | 'exit 0' | 'abort';
  items: number;
  /** With a supervisor that sees its worker exit; without one the lease has to expire. */
  supervised: boolean;
}

const CASES: PoisonCase[] = [
  { how: 'exit 1', items: depth(64, 1000), supervised: true },
  { how: 'exit 0', items: 16, supervised: true },
  { how: 'abort', items: 16, supervised: true },
  { how: 'exit 1', items: 16, supervised: false },
];

/** The other cases run in the deep lane: each crash waits for a lease to expire, or the result is the same. */
const QUICK_CASES = CASES.slice(0, 2);

test.each(isDeep ? CASES : QUICK_CASES)(
  'only the item that ends its process ($how) fails, of $items items, supervised: $supervised',
  async (poison) => {
    database.keepIfFailed();
    const { how, items, supervised } = poison;
    const rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
    const pipeline = chaosPipeline(`poison-${how.replace(' ', '')}-${supervised}-${items}`);
    const culprit = Math.floor(items * 0.6);
    const jobId = await rowmill.submit(
      pipeline,
      Array.from({ length: items }, (_, n) => ({ n, poison: n === culprit })),
    );
    // Living workers must not be taken for dead, because that counts as a crash of their items.
    const lease = supervised ? 60_000 : 3000;
    const settings: Partial<Settings> = {
      claimMin: items,
      claimMax: items,
      flushMaxItems: items,
      lockFloorMs: lease,
      lockCapMs: lease,
    };
    const mostCrashes = 3 + Math.floor(Math.log2(items));

    let crashes = 0;
    const leased: number[] = [];
    for (;;) {
      const worker = startChaosWorker({
        databaseUrl: database.url,
        pipeline: pipeline.name,
        handler: { kind: 'poison', how },
        settings,
      });
      const workerId = await workerIdOf(worker);
      const finished = whenFinished(rowmill, jobId).then(() => 'finished' as const);
      finished.catch(() => {});
      const ended = await Promise.race([finished, worker.exited]);
      for (const { event, items: claimed } of worker.events) {
        if (event === 'claim.made') leased.push(claimed as number);
      }
      if (ended === 'finished') {
        expect(countEvents(worker, 'fault')).toBe(0);
        worker.kill('SIGKILL');
        await worker.exited;
        break;
      }
      expect(ended).toEqual(
        {
          'exit 1': { code: 1, signal: null },
          'exit 0': { code: 0, signal: null },
          abort: { code: null, signal: 'SIGABRT' },
        }[how],
      );
      crashes += 1;
      expect(crashes, `leases of ${leased.join(', ')} items`).toBeLessThanOrEqual(mostCrashes);
      if (supervised) {
        const report = await rescueLeases(contextOf(rowmill), { deadWorkerId: workerId });
        expect(report.leases, 'the dead worker held the culprit').toBeGreaterThan(0);
      }
    }
    expect(crashes, 'void: nothing crashed').toBeGreaterThanOrEqual(3);
    await checkFinishedJob(database, jobId, { counts: { DONE: items - 1, ERROR: 1 } });
    const failed = await database.query(
      `select seq::int, error_class, error from results where job_id = $1 and status = 'ERROR'`,
      [jobId],
    );
    expect(failed).toMatchObject([
      { seq: culprit, error_class: 'crashed', error: expect.stringMatching(/\w+/) },
    ]);
    expect(await attemptsOf(database, jobId), 'neighbours are charged nothing').toEqual([1]);
    await rowmill.close();
  },
);
