// Phases of one worker compete for its one claim connection.
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { replaceSpans } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let rowmill: Rowmill;

beforeAll(async () => {
  const { blobStore } = database.context().settings;
  rowmill = await openRowmill({ databaseUrl: database.url, settings: { blobStore } });
});
afterAll(() => rowmill.close());

const ITEMS = 60;
const numbered = Array.from({ length: ITEMS }, (_, n) => ({ n }));

/** Calls never return, so the worker wants every claim. */
const holding = (name: string, priority?: number) => ({
  name,
  concurrency: 1000,
  ...(priority !== undefined && { priority }),
  run: (_row: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((resolve) => signal.addEventListener('abort', resolve)),
});

/**
 * Phases of the first claims, one item each. The clock is frozen: otherwise a worker looks for other work after half a
 * second, and the phase that waits for the answer loses its turn.
 */
async function firstClaims(
  pipelines: Pipeline[],
  count: number,
  nameOf: (claim: { jobId: string; phase: number }) => string,
): Promise<string[]> {
  const claims: string[] = [];
  const { events, settings } = contextOf(rowmill);
  const enough = new Promise<void>((resolve) => {
    const off = events.on('claim.made', (claim) => {
      claims.push(nameOf(claim));
      if (claims.length < count) return;
      off();
      resolve();
    });
  });
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  const worker = await rowmill.startWorker(pipelines, {
    settings: { ...settings, claimConcurrency: 1, claimMax: 1 },
  });
  await enough;
  clock.mockRestore();
  await worker.stop({ drainMs: 0 });
  return claims;
}

const shareOf = (name: string, claims: string[]): number =>
  claims.filter((each) => each === name).length / claims.length;

test('the higher priority is claimed first', async () => {
  const low = definePipeline({ name: `low-${newId()}`, phases: [holding('only')] });
  const high = definePipeline({ name: `high-${newId()}`, phases: [holding('only', 5)] });
  await rowmill.submit(low, numbered);
  const urgent = await rowmill.submit(high, numbered);
  const claims = await firstClaims([low, high], ITEMS, ({ jobId }) => (jobId === urgent ? 'high' : 'low'));
  // Without a priority it would be half of them.
  expect(shareOf('high', claims)).toBeGreaterThan(0.95);
});

const twoPhases = async (pipeline: Pipeline): Promise<void> => {
  const jobId = await rowmill.submit(pipeline, [...numbered, ...numbered]);
  await replaceSpans(database, jobId, [
    { items: `{[0,${ITEMS})}`, phase: 0 },
    { items: `{[${ITEMS},${2 * ITEMS})}`, phase: 1 },
  ]);
};

test('with equal priority, items of later phases are claimed before new rows', async () => {
  const pipeline = definePipeline({
    name: `two-${newId()}`,
    phases: [holding('first'), holding('second')],
  });
  await twoPhases(pipeline);
  const claims = await firstClaims([pipeline], ITEMS, ({ phase }) => pipeline.phases[phase]!.name);
  expect(shareOf('second', claims)).toBeGreaterThan(0.95);
});

test('a priority on the first phase lets new rows be claimed first', async () => {
  const pipeline = definePipeline({
    name: `turned-${newId()}`,
    phases: [holding('first', 1), holding('second')],
  });
  await twoPhases(pipeline);
  const claims = await firstClaims([pipeline], ITEMS, ({ phase }) => pipeline.phases[phase]!.name);
  expect(shareOf('first', claims)).toBeGreaterThan(0.95);
});

test('pipelines of the same priority share the worker, and no phase is starved', async () => {
  const one = definePipeline({ name: `one-${newId()}`, phases: [holding('only')] });
  const other = definePipeline({ name: `other-${newId()}`, phases: [holding('a'), holding('b')] });
  const jobId = await rowmill.submit(one, numbered);
  await rowmill.submit(other, numbered);
  const claims = await firstClaims([one, other], ITEMS, (claim) => (claim.jobId === jobId ? 'one' : 'other'));
  expect(shareOf('one', claims)).toBeGreaterThan(0.4);
  expect(shareOf('other', claims)).toBeGreaterThan(0.4);
});
