// Kills the canceller of a job at every step, and workers during a cancellation. The remaining or the next process
// cancels the rest of the job: every item has one result, and the counts are exact.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { FAULT_POINTS, type FaultPoint } from '../../src/platform/fault-point.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { isDeep, sample } from '../support/depth.ts';
import { checkInvariants } from '../support/invariants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  chaosPipeline,
  numberedItems,
  startChaosCommand,
  startChaosWorker,
} from './chaos-worker.ts';
import { checkFinishedJob, heldItems } from './check-finished-job.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
});
afterEach(killAll);
afterAll(() => rowmill.close());

const ITEMS = 420;
/** Items that complete before the cancellation; handlers of later items never return. */
const DONE = 20;
const NEVER_MS = 600_000;
const END = { state: 'CANCELLED', counts: { DONE, CANCELLED: ITEMS - DONE } } as const;

interface Running {
  jobId: string;
  pipeline: string;
  worker: Child;
}

/** Starts a job with results, with leases whose handlers run, and with waiting spans. */
async function startJob(sweepMs: number): Promise<Running> {
  const pipeline = chaosPipeline(`cancelled-${crypto.randomUUID()}`);
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  await database.query('update spans set items = $2, item_count = $3 where job_id = $1', [
    jobId,
    `{[0,${DONE})}`,
    DONE,
  ]);
  // A step takes 64 spans. Spans of two items, waiting or leased, give even a small job several steps.
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count, ready_at)
     select $1, 1, 0, int8multirange(int8range(n, n + 2)), 2, 'infinity' from generate_series($2::bigint, $3::bigint - 1, 2) n`,
    [jobId, DONE, ITEMS],
  );
  const worker = startWorker(pipeline.name, { sweepMs });
  await worker.waitFor('ready');
  await expect.poll(() => countResults(jobId)).toEqual({ DONE });
  await database.query('update spans set ready_at = now() where job_id = $1 and worker_id is null', [jobId]);
  await expect.poll(() => heldItems(database, jobId)).toBeGreaterThan(0);
  return { jobId, pipeline: pipeline.name, worker };
}

function startWorker(pipeline: string, { sweepMs = 100, faultPoints = '' } = {}): Child {
  return startChaosWorker({
    databaseUrl: database.url,
    pipeline,
    handler: { kind: 'hold', from: DONE },
    settings: { sweepMs, claimMin: 2, claimMax: 2, flushMaxDelayMs: 5 },
    faultPoints,
  });
}

async function countResults(jobId: string): Promise<Record<string, number>> {
  const rows = await database.query<{ status: string; count: number }>(
    'select status::text, count(*)::int as count from results where job_id = $1 group by 1',
    [jobId],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

async function stateOf(jobId: string): Promise<string> {
  const rows = await database.query<{ state: string }>('select state from jobs where job_id = $1', [jobId]);
  return rows[0]!.state;
}

async function violations(jobId: string, afterSweep = false): Promise<string[]> {
  const query = async ({ text, values }: { text: string; values: unknown[] }): Promise<unknown> => ({
    rows: await database.query(text, values),
  });
  return checkInvariants({ query: query as never }, jobId, { afterSweep });
}

function startCanceller(jobId: string, point: FaultPoint, passage: number): Child {
  return startChaosCommand({
    task: 'cancel',
    databaseUrl: database.url,
    jobId,
    faultPoints: `${point}=kill@${passage}`,
  });
}

/** Kills the canceller at this point. */
async function cancelAndDie(jobId: string, point: FaultPoint, passage = 1): Promise<void> {
  await expectKilledAt(startCanceller(jobId, point, passage), point);
}

/** False if the canceller finished. */
async function cancelUntil(jobId: string, point: FaultPoint, passage: number): Promise<boolean> {
  const canceller = startCanceller(jobId, point, passage);
  if ((await canceller.exited).code === 0) return false;
  await expectKilledAt(canceller, point);
  return true;
}

async function expectKilledAt(child: Child, point: FaultPoint): Promise<void> {
  expect(await child.exited, child.stderrTail).toEqual({ code: null, signal: 'SIGKILL' });
  const faults = child.events.filter(({ event }) => event === 'fault');
  expect(faults, 'void: the fault did not fire').toMatchObject([{ name: point }]);
}

async function expectCancelled(jobId: string): Promise<void> {
  await whenFinished(rowmill, jobId);
  await checkFinishedJob(database, jobId, END);
  expect(await violations(jobId, true)).toEqual([]);
}

const POINTS: { point: FaultPoint; passage: number; state: string; cancelled: 'none' | 'some' | 'all' }[] = [
  { point: 'cancel.after_begin', passage: 1, state: 'CANCELLING', cancelled: 'none' },
  { point: 'cancel.after_step', passage: 1, state: 'CANCELLING', cancelled: 'some' },
  { point: 'cancel.after_step', passage: 2, state: 'CANCELLING', cancelled: 'some' },
  { point: 'cancel.before_finalize', passage: 1, state: 'CANCELLING', cancelled: 'all' },
  { point: 'finalize.after_begin', passage: 1, state: 'FINALIZING', cancelled: 'all' },
  { point: 'finalize.after_file', passage: 1, state: 'FINALIZING', cancelled: 'all' },
  { point: 'finalize.before_commit', passage: 1, state: 'FINALIZING', cancelled: 'all' },
  { point: 'finalize.after_commit', passage: 1, state: 'CANCELLED', cancelled: 'all' },
];

test('every fault point of a cancellation is exercised here', () => {
  const points = FAULT_POINTS.filter((point) => point.startsWith('cancel.'));
  expect(POINTS.map(({ point }) => point)).toEqual(expect.arrayContaining(points));
});

test.each(
  sample(
    POINTS.filter(({ state }) => state === 'CANCELLING'),
    1,
  ),
)(
  'after the canceller is killed at $point, passage $passage, a worker that holds leases completes the cancellation',
  async ({ point, passage }) => {
    database.keepIfFailed();
    // A sweep of the worker may take steps before the canceller does and leave it none to die at; then the case is
    // repeated.
    for (let isVoid = true; isVoid; ) {
      const { jobId, worker } = await startJob(1000);
      isVoid = !(await cancelUntil(jobId, point, passage));
      await expectCancelled(jobId);
      worker.kill('SIGKILL');
      await worker.exited;
    }
  },
);

/** One case for each state that a canceller can leave behind. */
const QUICK_POINTS = [...new Map(POINTS.map((each) => [`${each.state} ${each.cancelled}`, each])).values()];

test.each(isDeep ? POINTS : QUICK_POINTS)(
  'after the canceller is killed at $point, passage $passage, and the worker too, a new worker completes the cancellation',
  async ({ point, passage, state, cancelled }) => {
    database.keepIfFailed();
    const { jobId, pipeline, worker } = await startJob(NEVER_MS);
    await cancelAndDie(jobId, point, passage);
    worker.kill('SIGKILL');
    await worker.exited;
    expect(await stateOf(jobId), 'void: another process continued').toBe(state);
    const { CANCELLED: given = 0 } = await countResults(jobId);
    const all = ITEMS - DONE;
    expect(given === 0 ? 'none' : given === all ? 'all' : 'some').toBe(cancelled);
    expect(await violations(jobId)).toEqual([]);
    startWorker(pipeline);
    await expectCancelled(jobId);
  },
);

describe('during a cancellation', () => {
  test.each(sample(['cancel.after_step', 'cancel.after_begin', 'cancel.before_finalize'] as const, 1))(
    'that is halted at %s, the worker is killed: the canceller finishes the job alone',
    async (point) => {
      database.keepIfFailed();
      const { jobId, worker } = await startJob(NEVER_MS);
      const canceller = startChaosCommand({
        task: 'cancel',
        databaseUrl: database.url,
        jobId,
        faultPoints: `${point}=stop`,
      });
      await canceller.waitFor('fault');
      worker.kill('SIGKILL');
      await worker.exited;
      canceller.kill('SIGCONT');
      expect(await canceller.exited).toEqual({ code: 0, signal: null });
      expect(canceller.events).toContainEqual(expect.objectContaining({ event: 'cancelled', began: true }));
      await expectCancelled(jobId);
    },
  );

  const sweepPoints = [
    'cancel.after_step',
    'cancel.before_finalize',
    'finalize.after_begin',
    'finalize.before_commit',
  ] as const;
  test.each(sample(sweepPoints, 2))(
    'the worker whose sweep took over is killed at %s, and the next worker continues',
    async (point) => {
      database.keepIfFailed();
      const { jobId, pipeline, worker } = await startJob(NEVER_MS);
      await cancelAndDie(jobId, 'cancel.after_begin');
      worker.kill('SIGKILL');
      await worker.exited;
      await expectKilledAt(startWorker(pipeline, { faultPoints: `${point}=kill` }), point);
      expect(await violations(jobId)).toEqual([]);
      startWorker(pipeline);
      await expectCancelled(jobId);
    },
  );

  test('a canceller that was halted while a sweep finished the job changes nothing afterwards', async () => {
    database.keepIfFailed();
    const { jobId } = await startJob(100);
    const canceller = startChaosCommand({
      task: 'cancel',
      databaseUrl: database.url,
      jobId,
      faultPoints: 'cancel.after_begin=stop',
    });
    await canceller.waitFor('fault');
    await expectCancelled(jobId);
    canceller.kill('SIGCONT');
    expect(await canceller.exited).toEqual({ code: 0, signal: null });
    await expectCancelled(jobId);
  });
});
