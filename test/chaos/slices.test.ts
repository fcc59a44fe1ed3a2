// Time slices in separate processes: concurrent, and killed in the middle.
import { afterEach, expect, test } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import { waitMs } from '../../src/platform/clock.ts';
import { killAll } from '../support/child-process.ts';
import { useTestDatabase } from '../support/test-database.ts';
import {
  CHAOS_SETTINGS,
  callsPerSeq,
  chaosPipeline,
  numberedItems,
  startChaosSlices,
} from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob, heldItems } from './check-finished-job.ts';

const database = useTestDatabase();
afterEach(killAll);

test('two processes that run slices of one job concurrently call every item once', async () => {
  database.keepIfFailed();
  // No process dies here: a slow machine must not look like a dead process or a hung handler.
  const settings = { lockFloorMs: 30_000, lockCapMs: 60_000, sliceGraceMs: 60_000 };
  const rowmill = await openRowmill({ databaseUrl: database.url, settings });
  const pipeline = chaosPipeline('slices-side-by-side');
  const jobId = await rowmill.submit(pipeline, numberedItems(400));
  const child = () =>
    startChaosSlices({
      databaseUrl: database.url,
      pipeline: pipeline.name,
      jobId,
      durationMs: 250,
      handler: { kind: 'work', minMs: 5, maxMs: 20 },
      concurrency: 4,
      settings,
    });
  const children = [child(), child()];
  for (const each of children) expect(await each.exited).toEqual({ code: 0, signal: null });
  await checkFinishedJob(database, jobId, { counts: { DONE: 400 } });
  const calls = callsPerSeq(...children);
  expect(calls.size).toBe(400);
  expect([...calls.values()].filter((count) => count !== 1)).toEqual([]);
  const recorded = children.flatMap((each) =>
    each.events.filter(({ event }) => event === 'slice').map((slice) => slice.recorded as number),
  );
  expect(recorded.reduce((sum, count) => sum + count, 0)).toBe(400);
  await rowmill.close();
});

test('a process killed in the middle of a slice costs only its lease: the next slices finish the job', async () => {
  database.keepIfFailed();
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  const pipeline = chaosPipeline('slices-killed');
  const jobId = await rowmill.submit(pipeline, numberedItems(60));
  const child = startChaosSlices({
    databaseUrl: database.url,
    pipeline: pipeline.name,
    jobId,
    durationMs: 60_000,
    handler: { kind: 'hold', from: 10 },
    concurrency: 4,
  });
  await child.waitFor('call', ({ seq }) => (seq as number) >= 10);
  child.kill('SIGKILL');
  await child.exited;
  expect(await heldItems(database, jobId)).toBeGreaterThan(0);

  for (let slices = 0; ; slices += 1) {
    const report = await rowmill.runSlice(jobId, 500, { pipelines: [pipeline] });
    if (report.finished) break;
    expect(report.moreReadyInMs).not.toBeNull();
    expect(slices).toBeLessThan(200);
    await waitMs(report.moreReadyInMs!);
  }
  await checkFinishedJob(database, jobId, { counts: { DONE: 60 } });
  expect(await attemptsOf(database, jobId)).toEqual([1]);
  await rowmill.close();
});
