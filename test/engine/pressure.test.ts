// A worker under local load takes on less, reports the reason, and recovers.
import { expect, test } from 'vitest';
import { claimSize } from '../../src/core/claims/claim-size.ts';
import { definePipeline, openRowmill } from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { waitMs } from '../../src/platform/clock.ts';
import { Events, type RowmillEvents } from '../../src/platform/events.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

test('slots and claims shrink under pressure, the reason names the signal and its bound, and nothing is lost', async () => {
  const SLOTS = 40;
  /** Running calls finish when the pressure rises, so slots are counted once this few are left. */
  const SLOTS_LEFT = SLOTS * 0.3;
  const events = new Events();
  const changes: RowmillEvents['pressure.changed'][] = [];
  let now = 0;
  let most = 0;
  let fill = (): void => {};
  const full = new Promise<void>((resolve) => {
    fill = resolve;
  });
  let isPressed = false;
  let settle = (): void => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  events.on('pressure.changed', (change) => {
    changes.push(change);
    if (change.to < 0.3) isPressed = true;
  });
  const pipeline = definePipeline({
    name: 'pressed',
    phases: [
      {
        name: 'only',
        concurrency: SLOTS,
        async run(row) {
          now += 1;
          most = Math.max(most, now);
          if (now === SLOTS) fill();
          // Without a flush there is no slow flush until all slots are in use.
          await full;
          await waitMs(20);
          now -= 1;
          if (isPressed && now < SLOTS_LEFT) settle();
          return row;
        },
      },
    ],
  });
  const rowmill = await openRowmill({
    databaseUrl: database.url,
    // Every flush is slower than this, and no other signal is near its bound.
    settings: {
      pressureFlushMs: 1,
      pressurePoolWaitMs: 60_000,
      pressureLoopDelayMs: 60_000,
      flushMaxDelayMs: 20,
      workerTargetSliceMs: 300,
      claimConcurrency: 1,
    },
    events,
  });
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: 20_000 }, (_, n) => ({ n })),
  );
  const worker = await rowmill.startWorker([pipeline]);
  await full;
  await settled;
  most = 0;
  // The first claim may have been in flight.
  await events.next('claim.made');
  const claim = await events.next('claim.made');
  const fell = changes.filter(({ from, to }) => to < from);
  expect(fell.length).toBeGreaterThan(0);
  for (const { reason, signs } of fell) {
    expect(reason).toMatch(/^flushMs is [\d.]+, above 1$/);
    expect(signs).toHaveProperty('loopDelayMs');
  }
  // Uses the item time that the claim reports, so the result does not depend on the speed of the machine.
  const itemMs = Number(/p75 item ([\d.]+) ms/.exec(claim.reason)![1]);
  const { settings } = contextOf(rowmill);
  const sizeFor = (slots: number): number =>
    claimSize({ ...settings, targetSliceMs: settings.workerTargetSliceMs }, slots, itemMs);
  expect(sizeFor(SLOTS_LEFT), 'void: claims are as small with all slots').toBeLessThan(sizeFor(SLOTS));
  expect(claim.asked).toBeLessThanOrEqual(sizeFor(SLOTS_LEFT));
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(SLOTS_LEFT);
  await rowmill.cancel(jobId);
  const { counts } = await rowmill.progress(jobId);
  expect(counts.DONE + counts.CANCELLED).toBe(20_000);
  await worker.stop();
  await rowmill.close();
});

test('when the failures of a phase rise, fewer calls run and retries are delayed; both are reported and temporary', async () => {
  const events = new Events();
  const spikes: RowmillEvents['phase.spike'][] = [];
  let calls = 0;
  let isDown = false;
  const fell = new Promise<void>((resolve) => {
    events.on('phase.spike', (spike) => {
      spikes.push(spike);
      if (spike.to < 1) {
        isDown = false;
        resolve();
      }
    });
  });
  const pipeline = definePipeline({
    name: 'spiky',
    phases: [
      {
        name: 'call',
        retry: { overloaded: { maxAttempts: 100, baseMs: 10, capMs: 50 } },
        async run(row) {
          calls += 1;
          if (calls === 100) isDown = true;
          await waitMs(5);
          if (isDown) throw Object.assign(new Error('down'), { status: 503 });
          return row;
        },
      },
    ],
  });
  const rowmill = await openRowmill({ databaseUrl: database.url, events });
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: 6000 }, (_, n) => ({ n })),
  );
  await fell;
  const summary = await rowmill.whenFinished(jobId);
  expect(summary.counts.DONE).toBe(6000);
  expect(spikes[0]).toMatchObject({ pipeline: 'spiky', phase: 'call', from: 1, to: 0.5 });
  expect(spikes[0]!.reason).toMatch(/\d+ of \d+ calls failed/);
  await worker.stop();
  await rowmill.close();
});
