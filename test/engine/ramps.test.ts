// A worker that starts slowly. Only lower bounds of time are asserted: a slow machine makes nothing fail.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { monotonicMs } from '../../src/platform/clock.ts';
import { newId } from '../../src/platform/random.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { checkFinishedJob } from '../chaos/check-finished-job.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
let rowmill: Rowmill;

beforeAll(async () => {
  const { blobStore } = database.context().settings;
  rowmill = await openRowmill({ databaseUrl: database.url, settings: { blobStore } });
});
afterAll(() => rowmill.close());

const SLOTS = 12;
const RAMP = { rampStarts: 3, rampCycleMs: 250 };

/** Handlers wait until all slots are busy. */
function filling() {
  const startsMs: number[] = [];
  let fill = (): void => {};
  const full = new Promise<void>((resolve) => {
    fill = resolve;
  });
  const pipeline = definePipeline({
    name: `filling-${newId()}`,
    phases: [
      {
        name: 'only',
        concurrency: SLOTS,
        async run(row) {
          startsMs.push(monotonicMs());
          if (startsMs.length === SLOTS) fill();
          await full;
          return row;
        },
      },
    ],
  });
  return { pipeline, startsMs, full };
}

test('begins no more calls per cycle than it may, claims no more, and limits nothing afterwards', async () => {
  database.keepIfFailed();
  const { pipeline, startsMs, full } = filling();
  const items = 2000;
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: items }, (_, n) => ({ n })),
  );
  const claimed: number[] = [];
  const off = contextOf(rowmill).events.on('claim.made', (claim) => claimed.push(claim.items));
  const startedMs = monotonicMs();
  const worker = await rowmill.startWorker([pipeline], {
    settings: { ...contextOf(rowmill).settings, ...RAMP },
  });
  await full;
  off();
  expect(startsMs).toHaveLength(SLOTS);
  for (const [i, atMs] of startsMs.entries())
    expect(atMs - startedMs).toBeGreaterThanOrEqual(Math.floor(i / RAMP.rampStarts) * RAMP.rampCycleMs);
  expect(Math.max(...claimed.slice(0, SLOTS / RAMP.rampStarts))).toBeLessThanOrEqual(RAMP.rampStarts);
  // At the pace of the ramp this would take three minutes.
  await whenFinished(rowmill, jobId);
  await worker.stop();
  await checkFinishedJob(database, jobId, { counts: { DONE: items } });
});

test('begins all slots at once by default', async () => {
  const { pipeline, full } = filling();
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: SLOTS }, (_, n) => ({ n })),
  );
  const claimed: number[] = [];
  const off = contextOf(rowmill).events.on('claim.made', (claim) => claimed.push(claim.items));
  const worker = await rowmill.startWorker([pipeline]);
  await full;
  off();
  expect(claimed).toEqual([SLOTS]);
  await rowmill.whenFinished(jobId);
  await worker.stop();
});
