// Four processes share a budget and one is killed while it holds a part of it. Spending is measured at the paid
// service.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { seededSequence } from '../../examples/seeded-sequence.ts';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { definePipeline } from '../../src/index.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { waitMs } from '../../src/platform/clock.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { CHAOS_SETTINGS, numberedItems, startChaosWorker } from './chaos-worker.ts';

const database = useTestDatabase();
let server: Server;
afterEach(async () => {
  await killAll();
  server.close();
  server.closeAllConnections();
});

const MAX = 600;
const SLOTS = 5;
const PROCESSES = 4;
const KILL_AT = 250;
const DEAREST = 1.2;

test('four processes stay within the budget even if one is killed while it holds a part of it', async () => {
  database.keepIfFailed();
  const random = seededSequence(7);
  const children: Child[] = [];
  let charged = 0;
  let underWay = 0;
  let mostUnderWay = 0;
  let calls = 0;
  let killed: Child | null = null;
  server = createServer(({ url }, response) => {
    calls += 1;
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    // A call is paid for when it starts, even if its answer is lost.
    const price = 0.5 + random() * (DEAREST - 0.5);
    charged += price;
    if (calls === KILL_AT) {
      killed = children.find(({ pid }) => `/${pid}` === url)!;
      killed.kill('SIGKILL');
    }
    setTimeout(
      () => {
        underWay -= 1;
        response.end(JSON.stringify({ price }));
      },
      10 + random() * 30,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  // Leases long enough for a slow machine: only the killed process may be taken for dead.
  const leases = { lockFloorMs: 3000, lockCapMs: 3000, resourceLeaseMs: 3000 };
  const settings = { ...CHAOS_SETTINGS, ...leases, resourceSyncMs: 50, controlLookMs: 50 };
  const rowmill = await openRowmill({ databaseUrl: database.url, settings });
  const pipeline = definePipeline({
    name: 'budget-kill',
    phases: [{ name: 'only', cost: 1, run: () => null }],
  });
  const items = 1500;
  for (let n = 0; n < PROCESSES; n += 1) {
    children.push(
      startChaosWorker({
        databaseUrl: database.url,
        pipeline: pipeline.name,
        handler: { kind: 'pay', url },
        concurrency: SLOTS,
        settings: { ...settings, claimMin: 20, claimMax: 40 },
      }),
    );
  }
  // All workers start before there is work: a late one would find nothing left of the budget.
  await Promise.all(children.map((child) => child.waitFor('ready')));
  const jobId = await rowmill.submit(pipeline, numberedItems(items), { budget: { max: MAX }, outputs: [] });
  const until = async (is: () => Promise<boolean>): Promise<void> => {
    while (!(await is())) await waitMs(20);
  };
  await until(async () => {
    const { counts } = await rowmill.progress(jobId);
    return (await rowmill.job(jobId)).state === 'PAUSED' && counts.PROCESSING === 0;
  });

  const [budget] = await rowmill.budgets(jobId);
  const { pausedBecause } = await rowmill.job(jobId);
  expect(killed, 'void: no worker was killed').not.toBeNull();
  expect(budget!.lost, 'void: the killed worker held nothing').toBeGreaterThan(0);
  expect(mostUnderWay).toBeGreaterThan(SLOTS);
  // The budget may only be exceeded by running calls that cost more than estimated.
  expect(charged).toBeLessThanOrEqual(MAX + PROCESSES * SLOTS * (DEAREST - 1));
  // The amount held by the killed worker counts as spent, whether or not it was paid.
  expect(charged + budget!.lost).toBeGreaterThanOrEqual(MAX * 0.9);
  expect(charged, 'every payment is counted').toBeLessThanOrEqual(budget!.spent + budget!.lost + 1e-6);
  expect(budget!.reserved).toBe(0);
  expect(pausedBecause).toMatch(
    /^budget of 600 reached: .* spent, of which .* was held by workers that are gone/,
  );

  await rowmill.setBudget(jobId, { max: 3000 });
  await rowmill.resume(jobId);
  const summary = await whenFinished(rowmill, jobId);
  expect(summary.counts.DONE).toBe(items);
  // Payments of the killed worker are in no result.
  expect(summary.cost + summary.fencedCost).toBeLessThanOrEqual(charged + 1e-6);
  expect(charged - summary.cost - summary.fencedCost).toBeLessThanOrEqual(budget!.lost + 1e-6 + 40 * DEAREST);
  const { invariants } = await diagnose(database.url, { jobId });
  expect(invariants.flatMap(({ problems }) => problems)).toEqual([]);
  await rowmill.close();
});
