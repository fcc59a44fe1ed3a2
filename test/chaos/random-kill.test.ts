// Kills one of two workers at random moments while work is in flight, and restarts it.
import { afterEach, expect, test } from 'vitest';
import { seededSequence } from '../../examples/seeded-sequence.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { depth } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  callsPerSeq,
  chaosPipeline,
  numberedItems,
  startChaosWorker,
  workerIdOf,
} from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob, heldItems } from './check-finished-job.ts';

const database = useTestDatabase();
afterEach(killAll);

const KILLS = depth(3, 9);
/** More than the other worker does before the victim has started. */
const ITEMS_PER_KILL = 300;
const ITEMS = (KILLS + 1) * ITEMS_PER_KILL;

test(`every item gets one result after ${KILLS} kills of a random worker at random moments`, async () => {
  database.keepIfFailed();
  const seed = Number(process.env.TEST_SEED);
  console.log(`TEST_SEED=${seed}`);
  const random = seededSequence(seed);
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  const pipeline = chaosPipeline('random-kill');
  const { jobId } = await rowmill.createJob(pipeline);
  await rowmill.addItems(jobId, numberedItems(ITEMS_PER_KILL));
  const all: Child[] = [];
  const start = (): Child => {
    const worker = startChaosWorker({
      databaseUrl: database.url,
      pipeline: pipeline.name,
      handler: { kind: 'work', minMs: 10, maxMs: 80 },
      concurrency: 4,
      // Leases long enough for a slow machine: only kills may cause repeated calls.
      settings: { claimMin: 20, claimMax: 40, flushMaxDelayMs: 30, lockFloorMs: 3000, lockCapMs: 3000 },
    });
    all.push(worker);
    return worker;
  };

  const workers = [start(), start()];
  let hits = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const index = Math.floor(random() * workers.length);
    const victim = workers[index]!;
    const workerId = await workerIdOf(victim);
    // The random moment: this many milliseconds after the worker started an item.
    const delayMs = 250 * random() ** 2;
    // The victim always has items left.
    await rowmill.addItems(jobId, numberedItems(ITEMS_PER_KILL));
    await victim.waitFor('call').catch((error: Error) => {
      throw new Error(`void: kill ${kill + 1} would have hit an idle worker`, { cause: error });
    });
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    victim.kill('SIGKILL');
    await victim.exited;
    if ((await heldItems(database, jobId, workerId)) > 0) hits += 1;
    workers[index] = start();
  }
  await rowmill.sealJob(jobId);
  await whenFinished(rowmill, jobId);
  expect(hits, `void: ${hits} of ${KILLS} kills hit work in flight`).toBeGreaterThanOrEqual(
    Math.ceil(KILLS / 2),
  );
  await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
  expect(await attemptsOf(database, jobId)).toEqual([1]);
  const calls = callsPerSeq(...all);
  expect(calls.size).toBe(ITEMS);
  // A kill repeats at most the items that the worker held.
  const repeated = [...calls.values()].reduce((sum, count) => sum + count - 1, 0);
  expect(repeated).toBeLessThanOrEqual(KILLS * 2 * 40);
  await rowmill.close();
});
