// A worker whose own side is slow takes on less, says why, and comes back.
import { expect, test } from 'vitest';
import { definePipeline, openRowmill } from '../../src/index.ts';
import { Events, type RowmillEvents } from '../../src/platform/events.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

test('slots and claims shrink under pressure, with the sign and its bound as the reason, and nothing is lost', async () => {
  const events = new Events();
  const changes: RowmillEvents['pressure.changed'][] = [];
  const claims: number[] = [];
  let now = 0;
  let most = 0;
  // Calls that run when the pressure rises run to their end: the slots count once so few are left.
  const SLOTS_LEFT = 40 * 0.3;
  let isPressed = false;
  let settle = (): void => {};
  const settled = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const beforePressed: number[] = [];
  events.on('pressure.changed', (change) => {
    changes.push(change);
    if (change.to < 0.3) isPressed = true;
  });
  events.on('claim.made', ({ asked }) => claims.push(asked));
  const pipeline = definePipeline({
    name: 'pressed',
    phases: [
      {
        name: 'only',
        concurrency: 40,
        async run(row) {
          now += 1;
          most = Math.max(most, now);
          await new Promise((resolve) => setTimeout(resolve, 20));
          now -= 1;
          if (!isPressed) beforePressed.push(now + 1);
          else if (now < SLOTS_LEFT) settle();
          return row;
        },
      },
    ],
  });
  // The loop is looked at every ten milliseconds: no delay is below this.
  const settings = {
    pressureLoopDelayMs: 1,
    pressureFlushMs: 1,
    flushMaxDelayMs: 20,
    workerTargetSliceMs: 300,
  };
  const rowmill = await openRowmill({ databaseUrl: database.url, settings, events });
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: 20_000 }, (_, n) => ({ n })),
  );
  await settled;
  const largest = Math.max(...claims);
  most = 0;
  const small = await new Promise<number>((resolve) =>
    events.on('claim.made', ({ asked }) => resolve(asked)),
  );
  expect(changes.every(({ from, to, reason }) => to < from && /its bound/.test(reason))).toBe(true);
  expect(changes.at(-1)!.signs).toHaveProperty('loopDelayMs');
  expect(small).toBeLessThan(largest);
  expect(Math.max(...beforePressed), 'void: the slots were never full').toBe(40);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(SLOTS_LEFT);
  await rowmill.cancel(jobId);
  const { counts } = await rowmill.progress(jobId);
  expect(counts.DONE + counts.CANCELLED).toBe(20_000);
  await worker.stop();
  await rowmill.close();
});

test('when failures of a phase rise, less of it runs and retries come later; it is told, and it passes', async () => {
  const events = new Events();
  const spikes: RowmillEvents['phase.spike'][] = [];
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
          await new Promise((resolve) => setTimeout(resolve, 5));
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
  isDown = true;
  await fell;
  const summary = await rowmill.whenFinished(jobId);
  expect(summary.counts.DONE).toBe(6000);
  expect(spikes[0]).toMatchObject({ pipeline: 'spiky', phase: 'call', from: 1, to: 0.5 });
  expect(spikes[0]!.reason).toMatch(/\d+ of \d+ calls failed/);
  await worker.stop();
  await rowmill.close();
});
