// Budgets, measured at a service that counts its payments: several workers in one process, each with its own
// connections, share a budget through the database alone.
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { flushOutcomes } from '../../src/engine/flush/flush-outcomes.ts';
import {
  definePipeline,
  fail,
  type ItemContext,
  type NewJobOptions,
  openRowmill,
  type Pipeline,
  type Rowmill,
  type RowmillWorker,
  retryLater,
} from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { waitMs } from '../../src/platform/clock.ts';
import { newId } from '../../src/platform/random.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { loadPipelines } from '../../src/pipeline/load-pipelines.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

let rowmill: Rowmill;
let workers: RowmillWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop({ drainMs: 0 })));
  workers = [];
  await rowmill.close();
});

type Row = { n: number; price?: number };
let made = 0;

interface Given {
  cost?: number | ((row: Row) => number);
  costUnit?: string;
  run?: (row: Row, context: ItemContext<undefined>) => unknown;
  concurrency?: number;
  retry?: object;
}

function pipelineOf({ cost = 1, costUnit, run, concurrency = 5, retry = {} }: Given = {}): Pipeline {
  made += 1;
  return definePipeline({
    name: `paid-${made}`,
    ...(costUnit !== undefined && { costUnit }),
    phases: [
      {
        name: 'call',
        concurrency,
        cost: cost as number,
        retry,
        run: (row, context) => (run ?? (() => ({ ok: true })))(row as Row, context),
      },
    ],
  });
}

async function start(pipelines: Pipeline[], count = 1, settings: Partial<Settings> = {}): Promise<void> {
  rowmill = await openRowmill({
    databaseUrl: database.url,
    settings: { controlLookMs: 50, resourceSyncMs: 50, ...settings },
  });
  workers = await Promise.all(Array.from({ length: count }, () => rowmill.startWorker(pipelines)));
}

const rows = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ n }));

async function submit(pipeline: Pipeline, items: Row[], options: NewJobOptions): Promise<string> {
  return rowmill.submit(pipeline, items, { outputs: [], ...options });
}

/** Waits until the job is paused and returns the reason. */
async function pausedReason(jobId: string): Promise<string | null> {
  for (;;) {
    const { state, pausedBecause } = await rowmill.job(jobId);
    const { counts } = await rowmill.progress(jobId);
    if (state === 'PAUSED' && counts.PROCESSING === 0) return pausedBecause;
    if (state === 'DONE') throw new Error('expected the job to pause, it is done');
    await waitMs(10);
  }
}

async function expectTruth(jobId: string): Promise<void> {
  const { invariants } = await diagnose(database.url, { jobId });
  expect(
    invariants.flatMap(({ problems, unchecked }) => [...problems, ...(unchecked ? [unchecked] : [])]),
  ).toEqual([]);
}

describe('a job that reaches its budget', () => {
  test('pauses with a reason, and finishes when the budget is raised', async () => {
    let calls = 0;
    const pipeline = pipelineOf({
      cost: 0.1,
      costUnit: 'EUR',
      run: async () => {
        calls += 1;
        await waitMs(2);
        return { ok: true };
      },
    });
    await start([pipeline], 3);
    const told: (string | null)[] = [];
    contextOf(rowmill).events.on('job.paused', ({ reason }) => told.push(reason));
    const jobId = await submit(pipeline, rows(100), { budget: { max: 5 } });
    expect(await pausedReason(jobId)).toBe('budget of €5.00 reached: €5.00 spent');
    // The event follows the commit.
    await expect.poll(() => told).toEqual(['budget of €5.00 reached: €5.00 spent']);
    expect(calls).toBe(50);
    const progress = await rowmill.progress(jobId);
    expect(progress.cost).toBeCloseTo(5, 9);
    expect(progress.counts).toMatchObject({ DONE: 50, PENDING: 50, PROCESSING: 0 });
    expect(await rowmill.budgets(jobId)).toMatchObject([{ scope: 'job', max: 5, lost: 0, reserved: 0 }]);

    await expect(rowmill.resume(jobId)).rejects.toMatchObject({
      code: 'BUDGET_USED_UP',
      message: `cannot resume job ${jobId}: budget of €5.00 reached: €5.00 spent`,
      hint: expect.stringContaining('`setBudget`'),
    });
    expect(await pausedReason(jobId)).toBe('budget of €5.00 reached: €5.00 spent');
    expect(calls).toBe(50);

    await rowmill.setBudget(jobId, { max: 20 }, { actor: 'tests' });
    await rowmill.resume(jobId);
    const summary = await rowmill.whenFinished(jobId);
    expect(summary.cost).toBeCloseTo(10, 9);
    expect(summary.phases[0]!.cost).toBeCloseTo(10, 9);
    expect(calls).toBe(100);
    const audit = await database.query(
      `select actor, action, detail from audit where subject = $1 and action = 'job.budget'`,
      [`job ${jobId}`],
    );
    expect(audit).toEqual([
      {
        actor: 'tests',
        action: 'job.budget',
        detail: { change: { max: 20 }, budget: { max: 20, perItem: null } },
      },
    ]);
    await expectTruth(jobId);
  });

  test('spends the amount left over by calls that cost less than estimated', async () => {
    let calls = 0;
    const pipeline = pipelineOf({
      cost: 1,
      run: (_, { cost }) => {
        calls += 1;
        cost(0.1);
        cost(0.15);
        return { ok: true };
      },
    });
    await start([pipeline], 2);
    const jobId = await submit(pipeline, rows(200), { budget: { max: 10 } });
    expect(await pausedReason(jobId)).toMatch(
      /^budget of 10 reached: 9(\.\d+)? spent; the next call is estimated at 1$|^budget of 10 reached: 9\.25 spent/,
    );
    expect(calls).toBeGreaterThanOrEqual(37);
    expect(calls).toBeLessThanOrEqual(40);
    await expectTruth(jobId);
  });

  test('exceeds it at most by the extra cost of running calls that cost more than estimated', async () => {
    const pipeline = pipelineOf({
      cost: 1,
      concurrency: 4,
      run: async (_, { cost }) => {
        await waitMs(5);
        cost(3);
        return { ok: true };
      },
    });
    await start([pipeline], 2);
    const jobId = await submit(pipeline, rows(200), { budget: { max: 30 } });
    await pausedReason(jobId);
    const { cost } = await rowmill.progress(jobId);
    expect(cost).toBeGreaterThanOrEqual(30);
    expect(cost).toBeLessThanOrEqual(30 + 8 * 2 + 1);
  });

  test('exceeds it at most by the running calls if there is no estimate', async () => {
    const pipeline = pipelineOf({
      cost: 0,
      concurrency: 3,
      run: async (_, { cost }) => {
        await waitMs(3);
        cost(1);
        return { ok: true };
      },
    });
    await start([pipeline], 2);
    const jobId = await submit(pipeline, rows(200), { budget: { max: 20 } });
    expect(await pausedReason(jobId)).toMatch(/^budget of 20 reached: 2\d spent$/);
    const { cost } = await rowmill.progress(jobId);
    expect(cost).toBeGreaterThanOrEqual(20);
    expect(cost).toBeLessThanOrEqual(26);
  });

  test('finishes if the budget is just enough', async () => {
    const pipeline = pipelineOf({ cost: 0.1 });
    await start([pipeline], 2);
    const jobId = await submit(pipeline, rows(70), { budget: { max: 7 } });
    expect((await rowmill.whenFinished(jobId)).counts.DONE).toBe(70);
  });
});

test('an estimate may depend on the row; an invalid estimate fails its row', async () => {
  const pipeline = pipelineOf({
    cost: (row) =>
      row.n === 3 ? Number.NaN : row.n === 4 ? -1 : row.n === 5 ? ('1' as never) : (row.n % 3) + 1,
  });
  await start([pipeline]);
  const jobId = await submit(pipeline, rows(30), { budget: { max: 1000 } });
  const { counts } = await rowmill.whenFinished(jobId);
  expect(counts).toMatchObject({ DONE: 27, ERROR: 3 });
  const failed = await database.query(
    `select seq::int, error_class, error, cost from results where job_id = $1 and status = 'ERROR' order by seq`,
    [jobId],
  );
  expect(failed).toEqual([
    { seq: 3, error_class: 'invalid', error: 'expected cost to return a number from 0, got NaN', cost: null },
    { seq: 4, error_class: 'invalid', error: 'expected cost to return a number from 0, got -1', cost: null },
    { seq: 5, error_class: 'invalid', error: 'expected cost to return a number from 0, got "1"', cost: null },
  ]);
  const paid = await database.query<{ cost: number }>(
    'select cost from results where job_id = $1 and seq in (0, 1, 2) order by seq',
    [jobId],
  );
  expect(paid.map(({ cost }) => cost)).toEqual([1, 2, 3]);
  await expectTruth(jobId);
});

test('an invalid actual cost fails its call', async () => {
  const pipeline = pipelineOf({ run: (row, { cost }) => cost(row.n === 0 ? -2 : Number.NaN) });
  await start([pipeline]);
  const jobId = await submit(pipeline, rows(2), { budget: { max: 1000 } });
  await rowmill.whenFinished(jobId);
  const failed = await database.query('select error from results where job_id = $1 order by seq', [jobId]);
  expect(failed).toEqual([
    { error: 'expected context.cost to be given a number from 0, got -2' },
    { error: 'expected context.cost to be given a number from 0, got NaN' },
  ]);
});

test("the costs of an item's attempts and phases add up, with and without a budget", async () => {
  made += 1;
  const pipeline = definePipeline({
    name: `paid-${made}`,
    phases: [
      {
        name: 'first',
        cost: 2,
        retry: { throttled: { maxAttempts: 3, baseMs: 1, capMs: 2 } },
        run: (_: Record<string, unknown>, { attempt, cost }) => {
          if (attempt === 1) cost(0.5);
          return attempt < 3 ? retryLater({ afterMs: 1 }) : { ok: true };
        },
      },
      { name: 'second', run: (_: Record<string, unknown>, { cost }) => cost(4) ?? { ok: true } },
    ],
  });
  await start([pipeline], 2);
  for (const options of [{}, { budget: { max: 1000 } }]) {
    const jobId = await submit(pipeline, rows(10), options);
    const summary = await rowmill.whenFinished(jobId);
    expect(summary.phases.map(({ cost }) => cost)).toEqual([45, 40]);
    expect(summary.cost).toBe(85);
    const tables = await database.query(
      `select (select sum(cost) from attempt_errors where job_id = $1) as attempts,
              (select sum(cost) from stage_outputs where job_id = $1) as stages,
              (select sum(cost) from results where job_id = $1) as results`,
      [jobId],
    );
    expect(tables).toEqual([{ attempts: 25, stages: 20, results: 40 }]);
    if ('budget' in options)
      await expect.poll(() => rowmill.budgets(jobId)).toMatchObject([{ spent: 85, lost: 0 }]);
    await expectTruth(jobId);
  }
});

test('an item is not retried if the retry would exceed the budget per item', async () => {
  const pipeline = pipelineOf({
    cost: 0.4,
    costUnit: 'EUR',
    retry: { throttled: { maxAttempts: 50, baseMs: 1, capMs: 1 } },
    run: (row, { cost }) => {
      if (row.n === 0) cost(0.1);
      return row.n < 3 ? retryLater({ afterMs: 1, reason: 'not yet' }) : { ok: true };
    },
  });
  await start([pipeline], 2);
  const jobId = await submit(pipeline, rows(5), { budget: { perItem: 1 } });
  const { counts, cost } = await rowmill.whenFinished(jobId);
  expect(counts).toMatchObject({ DONE: 2, ERROR: 3 });
  const failed = await database.query(
    `select seq::int, attempt, error_class, error from results where job_id = $1 and status = 'ERROR' order by seq`,
    [jobId],
  );
  const sentence = (spent: string) =>
    `budget of €1.00 per row reached: ${spent} spent, the next call is estimated at €0.40; the last call failed with: not yet`;
  expect(failed).toEqual([
    { seq: 0, attempt: 7, error_class: 'permanent', error: sentence('€0.70') },
    { seq: 1, attempt: 2, error_class: 'permanent', error: sentence('€0.80') },
    { seq: 2, attempt: 2, error_class: 'permanent', error: sentence('€0.80') },
  ]);
  expect(cost).toBeCloseTo(0.7 + 0.8 * 2 + 0.4 * 2, 9);
  await expectTruth(jobId);
});

test('an item whose estimate exceeds the budget per item is not called', async () => {
  let calls = 0;
  const pipeline = pipelineOf({
    cost: (row) => row.n,
    run: () => {
      calls += 1;
      return { ok: true };
    },
  });
  await start([pipeline]);
  const jobId = await submit(pipeline, rows(4), { budget: { perItem: 2 } });
  expect((await rowmill.whenFinished(jobId)).counts).toMatchObject({ DONE: 3, ERROR: 1 });
  expect(calls).toBe(3);
  const [failed] = await rowmill.errorGroups(jobId);
  expect(failed!.sample).toBe('budget of 2 per row reached: 0 spent, the next call is estimated at 3');
});

test('calls of many items reserve the sum, and their items share the reported cost', async () => {
  const sizes: number[] = [];
  made += 1;
  const pipeline = definePipeline({
    name: `paid-${made}`,
    phases: [
      {
        name: 'call',
        concurrency: 2,
        cost: 1,
        batch: { maxItems: 10 },
        runMany: (items, { cost }) => {
          sizes.push(items.length);
          cost(items.length / 2);
          items[0]!.cost(0.25);
          return items.map(() => ({ ok: true }));
        },
      },
    ],
  });
  await start([pipeline]);
  const jobId = await submit(pipeline, rows(200), { budget: { max: 40 } });
  await pausedReason(jobId);
  const { cost } = await rowmill.progress(jobId);
  expect(cost).toBeLessThanOrEqual(40);
  expect(cost).toBeGreaterThan(36);
  expect(Math.max(...sizes)).toBe(10);
  expect(sizes.length).toBeLessThan(40);
  await expectTruth(jobId);
});

describe('owners', () => {
  test('share a budget over all their jobs, without effect on other owners', async () => {
    const pipeline = pipelineOf({ cost: 1 });
    const anna = newId();
    await start([pipeline], 2);
    await rowmill.setOwnerBudget(anna, { total: 50 });
    const jobs = await Promise.all([
      submit(pipeline, rows(40), { ownerId: anna }),
      submit(pipeline, rows(40), { ownerId: anna }),
    ]);
    const other = await submit(pipeline, rows(100), { ownerId: 'bert' });
    await rowmill.whenFinished(other);
    const ends = await Promise.all(
      jobs.map(async (jobId) => {
        const ended = rowmill.whenFinished(jobId).then(() => 'done');
        return Promise.race([ended, pausedReason(jobId).catch(() => 'done')]);
      }),
    );
    expect(new Set([...ends, 'done'])).toEqual(
      new Set(['done', `budget of owner ${anna} of 50 reached: 50 spent`]),
    );
    const costs = await Promise.all(jobs.map(async (jobId) => (await rowmill.progress(jobId)).cost));
    expect(costs[0]! + costs[1]!).toBe(50);
    await rowmill.setOwnerBudget(anna, { total: null });
    for (const jobId of jobs) if ((await rowmill.job(jobId)).state === 'PAUSED') await rowmill.resume(jobId);
    for (const jobId of jobs) expect((await rowmill.whenFinished(jobId)).counts.DONE).toBe(40);
  });

  test('have a daily budget that resets by the clock of the database', async () => {
    const pipeline = pipelineOf({ cost: 1 });
    const dora = newId();
    await start([pipeline]);
    await rowmill.setOwnerBudget(dora, { perDay: 10 });
    const jobId = await submit(pipeline, rows(18), { ownerId: dora });
    expect(await pausedReason(jobId)).toBe(`budget per day of owner ${dora} of 10 reached: 10 spent`);
    await database.query(
      `update budgets set state = jsonb_set(state, '{day}', '"2001-01-01"') where scope = 'day:' || $1`,
      [dora],
    );
    await rowmill.resume(jobId);
    expect((await rowmill.whenFinished(jobId)).counts.DONE).toBe(18);
    // The next sync reports the last calls.
    await expect.poll(() => rowmill.budgets(jobId)).toMatchObject([{ scope: 'day', max: 10, spent: 8 }]);
  });
});

test('a budget set while the job runs applies from then on, and includes earlier spending', async () => {
  const pipeline = pipelineOf({ cost: 1, run: () => waitMs(20) });
  await start([pipeline], 2);
  const jobId = await submit(pipeline, rows(5000), {});
  while ((await rowmill.progress(jobId)).cost < 50) await waitMs(5);
  // Far enough away that all workers know of it before it is reached.
  await rowmill.setBudget(jobId, { max: 2000 });
  await pausedReason(jobId);
  const { cost } = await rowmill.progress(jobId);
  // A job may pause early by the cost that the other worker has between two reports: 62 in 250 ms; the bound allows
  // two seconds.
  expect(cost).toBeGreaterThan(2000 - 8 * 62);
  expect(cost).toBeLessThanOrEqual(2000 + 20);
  await rowmill.cancel(jobId);
});

test('reprocessing rows does not reset the amount spent', async () => {
  const pipeline = pipelineOf({
    cost: 1,
    run: (row, { generation }) => (generation === 1 && row.n < 5 ? fail('no') : { ok: true }),
  });
  await start([pipeline]);
  const jobId = await submit(pipeline, rows(10), { budget: { max: 12 } });
  expect((await rowmill.whenFinished(jobId)).cost).toBe(10);
  await rowmill.reprocess(jobId, { includePermanent: true });
  expect(await pausedReason(jobId)).toBe('budget of 12 reached: 12 spent');
  await rowmill.setBudget(jobId, { max: null });
  await rowmill.resume(jobId);
  const summary = await rowmill.whenFinished(jobId);
  expect(summary).toMatchObject({ generation: 2, cost: 15, counts: { DONE: 10 } });
  expect(summary.phases[0]!.cost).toBe(5);
  await expectTruth(jobId);
});

test('an invalid budget is refused, and so is one for a pipeline without costs', async () => {
  const free = definePipeline({ name: 'free', phases: [{ name: 'only', run: () => null }] });
  await start([]);
  const refused = (budget: object, pipeline = pipelineOf()) =>
    rowmill.createJob(pipeline, { budget }).catch((error) => error.message);
  expect(await refused({ max: -1 })).toBe('expected max of the budget to be a number from 0, got -1');
  expect(await refused({ max: Number.NaN })).toBe(
    'expected max of the budget to be a number from 0, got NaN',
  );
  expect(await refused({ perItem: '1' })).toBe(
    'expected perItem of the budget to be a number from 0, got "1"',
  );
  expect(await refused({ maximum: 1 })).toBe('expected budget to have max and perItem, got maximum');
  expect(await refused({ max: 1 }, free)).toBe(
    'expected a phase of pipeline free to have a cost, because the job has a budget',
  );
  expect(() => pipelineOf({ cost: -1 })).toThrow('to be a number from 0 or a function of the row, got -1');
});

test('handlers in threads report their cost; a thread that exits costs the estimate', async () => {
  const [pipeline] = await loadPipelines([fileURLToPath(new URL('paid-pipelines.mjs', import.meta.url))]);
  await start([pipeline!]);
  const jobId = await submit(pipeline!, rows(30), { budget: { max: 10 } });
  expect(await pausedReason(jobId)).toMatch(/^budget of 10 reached: /);
  const paid = await database.query<{ seq: number; cost: number | null }>(
    'select seq::int, cost from results where job_id = $1 and seq < 9 order by seq',
    [jobId],
  );
  expect(paid.map(({ cost }) => cost)).toEqual([0.5, 0.5, 0.5, 1, 1, 1, 1, null, 1]);
  const { cost } = await rowmill.progress(jobId);
  expect(cost).toBeLessThanOrEqual(10);
  expect(cost).toBeGreaterThan(9);
  await expectTruth(jobId);
});

test('abandoned calls were paid: their cost is booked separately, and their items run again', async () => {
  let began = 0;
  let isHanging = true;
  const pipeline = pipelineOf({
    cost: 2,
    concurrency: 4,
    run: async (row, { signal, cost }) => {
      if (row.n === 0) cost(5);
      began += 1;
      if (isHanging)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return { ok: true };
    },
  });
  await start([pipeline]);
  const jobId = await submit(pipeline, rows(4), { budget: { max: 100 } });
  while (began < 4) await waitMs(5);
  await workers[0]!.stop({ drainMs: 0 });
  expect(await rowmill.progress(jobId)).toMatchObject({ cost: 0, fencedCost: 11, counts: { PENDING: 4 } });
  expect(await rowmill.budgets(jobId)).toMatchObject([{ spent: 11, lost: 0, reserved: 0 }]);
  isHanging = false;
  workers = [await rowmill.startWorker([pipeline])];
  expect(await rowmill.whenFinished(jobId)).toMatchObject({ cost: 11, fencedCost: 11, counts: { DONE: 4 } });
  await expectTruth(jobId);
});

test('a call that times out costs the estimate', async () => {
  made += 1;
  const pipeline = definePipeline({
    name: `paid-${made}`,
    phases: [
      {
        name: 'call',
        cost: 3,
        timeoutMs: 50,
        retry: { timeout: { maxAttempts: 1 } },
        run: () => new Promise(() => {}),
      },
    ],
  });
  await start([pipeline]);
  const jobId = await submit(pipeline, rows(2), { budget: { max: 100 } });
  expect(await rowmill.whenFinished(jobId)).toMatchObject({ cost: 6, counts: { ERROR: 2 } });
  await expect.poll(() => rowmill.budgets(jobId)).toMatchObject([{ spent: 6, lost: 0, reserved: 0 }]);
});

test('time slices respect the budget too, and end when the job has paused', async () => {
  const pipeline = pipelineOf({ cost: 1 });
  await start([]);
  const jobId = await submit(pipeline, rows(50), { budget: { max: 20 } });
  const report = await rowmill.runSlice(jobId, 200_000, { pipelines: [pipeline] });
  expect(report).toMatchObject({ state: 'PAUSED', finished: false, moreReadyInMs: null });
  expect(report.elapsedMs).toBeLessThan(200_000);
  expect((await rowmill.progress(jobId)).cost).toBe(20);
  expect((await rowmill.job(jobId)).pausedBecause).toBe('budget of 20 reached: 20 spent');
});

test('a job without a budget does not wait for a job of the same owner whose budget is used up', async () => {
  let release = (): void => {};
  const hanging = new Promise<void>((resolve) => {
    release = resolve;
  });
  const pipeline = pipelineOf({
    cost: 1,
    concurrency: 3,
    run: (row) => (row.price ? hanging : { ok: true }),
  });
  await start([pipeline]);
  // Its one call hangs and holds the whole budget: no other call of this job may start, and it cannot pause.
  const poor = await submit(pipeline, [{ n: 0, price: 1 }, ...rows(50)], { budget: { max: 1 }, priority: 5 });
  const free = await submit(pipeline, rows(50), {});
  expect((await rowmill.whenFinished(free)).counts.DONE).toBe(50);
  expect((await rowmill.job(poor)).state).toBe('RUNNING');
  release();
  expect(await pausedReason(poor)).toBe('budget of 1 reached: 1 spent');
});

test('late outcomes were paid: the flush books their cost separately', async () => {
  const pipeline = pipelineOf({ cost: 1 });
  await start([]);
  const jobId = await submit(pipeline, rows(3), {});
  const { db } = contextOf(rowmill);
  const ids = { workerId: newId(), token: newId() };
  const claim = await claimItems(db, {
    jobId,
    phase: 0,
    maxItems: 3,
    maxBytes: 1e6,
    leaseMs: 60_000,
    ...ids,
  });
  const { spanId, token, attempt, failures, crashes, priority, generation } = claim!;
  await database.query('update spans set token = gen_random_uuid() where job_id = $1', [jobId]);
  const outcomes = [0, 1, 2].map((seq) => ({
    seq,
    kind: 'terminal' as const,
    status: 'DONE' as const,
    json: '{}',
    failure: null,
    delayMs: 0,
    handlerMs: 1,
    cost: 0.5,
  }));
  const leases = [{ spanId, token, attempt, failures, crashes, priority, outcomes }];
  const batch = { jobId, generation, phase: 0, workerId: ids.workerId, flushId: newId(), leases };
  expect(await flushOutcomes(contextOf(rowmill), batch, false)).toMatchObject({ recorded: 0, fenced: 3 });
  expect(await rowmill.progress(jobId)).toMatchObject({ cost: 0, fencedCost: 1.5 });
  await expectTruth(jobId);
});
