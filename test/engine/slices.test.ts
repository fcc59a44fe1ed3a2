// Time slices: runSlice calls alone finish a job, beside workers and beside each other.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { waitMs } from '../../src/platform/clock.ts';
import { newId } from '../../src/platform/random.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import type { SliceReport } from '../../src/worker/process/run-slice.ts';
import { attemptsOf, checkFinishedJob } from '../chaos/check-finished-job.ts';
import { claimRequest } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
/** Its handlers return within their grace period even on a slow machine: for tests that count calls. */
let unhurried: Rowmill;
let blobStore: string;

beforeAll(async () => {
  blobStore = database.context().settings.blobStore;
  rowmill = await openRowmill({ databaseUrl: database.url, settings: { blobStore } });
  unhurried = await openRowmill({ databaseUrl: database.url, settings: { blobStore, sliceGraceMs: 60_000 } });
});
afterAll(() => Promise.all([rowmill.close(), unhurried.close()]));

const numbered = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }));

/** A pipeline of one phase whose handler counts its calls per item. */
function counted(
  run: (n: number, signal: AbortSignal) => unknown,
  phase: { concurrency?: number; retry?: Record<string, object> } = {},
) {
  const calls = new Map<number, number>();
  let began = (): void => {};
  const firstCall = new Promise<void>((resolve) => {
    began = resolve;
  });
  const pipeline = definePipeline({
    name: `counted-${newId()}`,
    phases: [
      {
        name: 'only',
        ...phase,
        run(row: Record<string, unknown>, { seq, signal }) {
          calls.set(seq, (calls.get(seq) ?? 0) + 1);
          began();
          return run(row.n as number, signal);
        },
      },
    ],
  });
  return { pipeline, calls, firstCall };
}

/** Runs slices, each when the previous report says so, until the job is finished. */
async function sliceUntilFinished(
  on: Rowmill,
  jobId: string,
  durationMs: number,
  pipelines: Pipeline[],
): Promise<SliceReport[]> {
  const reports: SliceReport[] = [];
  for (;;) {
    const report = await on.runSlice(jobId, durationMs, { pipelines });
    reports.push(report);
    if (report.finished) return reports;
    if (report.moreReadyInMs === null) throw new Error(`nothing more to do: ${JSON.stringify(report)}`);
    if (reports.length > 500) throw new Error('no end after 500 slices');
    await waitMs(report.moreReadyInMs);
  }
}

const leases = async (jobId: string): Promise<unknown[]> =>
  database.query('select * from spans where job_id = $1 and worker_id is not null', [jobId]);
const workers = async (): Promise<unknown[]> => database.query('select * from workers');

async function expectExact(jobId: string, counts: Record<string, number>): Promise<void> {
  await checkFinishedJob(database, jobId, { counts });
  expect(await diagnose(database.url, { jobId, blobs: contextOf(rowmill).blobs })).toMatchObject({
    ok: true,
  });
}

describe('a job without a worker', () => {
  test('is finished by repeated slices, and every item is called once', async () => {
    database.keepIfFailed();
    const { pipeline, calls } = counted((n) => waitMs(15).then(() => ({ n })));
    const jobId = await rowmill.submit(pipeline, numbered(400));
    const reports = await sliceUntilFinished(unhurried, jobId, 200, [pipeline]);
    expect(reports.length).toBeGreaterThan(1);
    expect(reports.reduce((sum, { recorded }) => sum + recorded, 0)).toBe(400);
    expect(reports.at(-1)).toMatchObject({ state: 'DONE', finished: true, moreReadyInMs: null });
    for (const { state, finished } of reports.slice(0, -1)) {
      expect(finished).toBe(false);
      // On a slow machine a slice may end before its first claim, or before the last step is complete.
      expect(['QUEUED', 'RUNNING', 'FINALIZING']).toContain(state);
    }
    expect([...calls.values()].filter((count) => count !== 1)).toEqual([]);
    expect(await attemptsOf(database, jobId)).toEqual([1]);
    await expectExact(jobId, { DONE: 400 });
    expect(await workers()).toEqual([]);
  });

  test('makes progress in every slice, however short', async () => {
    const { pipeline, calls } = counted((n) => ({ n }));
    const jobId = await rowmill.submit(pipeline, numbered(30));
    const reports = await sliceUntilFinished(unhurried, jobId, 1, [pipeline]);
    expect(reports.filter(({ recorded, finished }) => recorded === 0 && !finished)).toEqual([]);
    expect([...calls.values()]).toEqual(numbered(30).map(() => 1));
    await expectExact(jobId, { DONE: 30 });
  });

  test('is finished early if nothing is left, and a further slice returns immediately', async () => {
    const { pipeline } = counted((n) => n);
    const jobId = await rowmill.submit(pipeline, numbered(3));
    const report = await rowmill.runSlice(jobId, 60_000, { pipelines: [pipeline] });
    expect(report).toMatchObject({ jobId, state: 'DONE', finished: true, recorded: 3, moreReadyInMs: null });
    expect(report.elapsedMs).toBeLessThan(30_000);
    expect(report.progress.counts).toMatchObject({ DONE: 3, PENDING: 0, PROCESSING: 0 });
    expect(await rowmill.runSlice(jobId, 60_000, { pipelines: [] })).toMatchObject({
      finished: true,
      recorded: 0,
    });
  });

  test('is finished when it is sealed if it has no items, and has nothing to do before', async () => {
    const { pipeline } = counted((n) => n);
    const { jobId } = await rowmill.createJob(pipeline);
    expect(await rowmill.runSlice(jobId, 50, { pipelines: [pipeline] })).toMatchObject({
      state: 'INGESTING',
      moreReadyInMs: null,
    });
    await rowmill.sealJob(jobId);
    expect(await rowmill.runSlice(jobId, 60_000, { pipelines: [pipeline] })).toMatchObject({ state: 'DONE' });
  });

  test('runs several phases, with items that its handlers emit', async () => {
    const pipeline = definePipeline({
      name: `phases-${newId()}`,
      phases: [
        {
          name: 'first',
          run: async (row: Record<string, unknown>, { emit }) => {
            if (row.child === undefined) emit(`child of ${String(row.n)}`, { n: row.n, child: true });
            await waitMs(5);
            return { first: row.n };
          },
        },
        { name: 'second', run: async (_row, { previous }) => waitMs(5).then(() => ({ second: previous })) },
        { name: 'third', run: (_row, { previous }) => ({ third: previous }) },
      ],
    });
    const jobId = await rowmill.submit(pipeline, numbered(60));
    await sliceUntilFinished(rowmill, jobId, 120, [pipeline]);
    await expectExact(jobId, { DONE: 120 });
    for await (const row of rowmill.results(jobId))
      expect(row.result).toEqual({ third: { second: { first: (row.input as { n: number }).n } } });
  });

  test('has its file read by the slices too', async () => {
    const { pipeline } = counted((n) => n);
    const bytes = (async function* () {
      yield Buffer.from(
        `n\n${numbered(50)
          .map(({ n }) => n)
          .join('\n')}\n`,
      );
    })();
    const { jobId } = await rowmill.createFileJob(pipeline, { name: 'rows.csv', bytes });
    expect((await rowmill.job(jobId)).state).toBe('INGESTING');
    await sliceUntilFinished(rowmill, jobId, 1000, [pipeline]);
    await expectExact(jobId, { DONE: 50 });
  });
});

describe('the end of a slice', () => {
  test('aborts running calls after the grace period, uncharged, and returns all items', async () => {
    const settings = { blobStore, sliceGraceMs: 20 };
    const impatient = await openRowmill({ databaseUrl: database.url, settings });
    const end = new AbortController();
    let slow = true;
    let waiting = 0;
    let aborted = 0;
    const { pipeline, calls } = counted(
      async (n, signal) => {
        if (slow) {
          signal.addEventListener('abort', () => {
            aborted += 1;
          });
          waiting += 1;
          if (waiting === 4) end.abort();
          await waitMs(60_000, signal);
        }
        return { n };
      },
      { concurrency: 4 },
    );
    const jobId = await impatient.submit(pipeline, numbered(20));
    const report = await impatient.runSlice(jobId, 60_000, { pipelines: [pipeline], signal: end.signal });
    expect(report).toMatchObject({ state: 'RUNNING', recorded: 0, moreReadyInMs: 0 });
    expect(report.progress.counts).toMatchObject({ PENDING: 20, PROCESSING: 0 });
    expect(aborted).toBe(4);
    expect(await leases(jobId)).toEqual([]);
    slow = false;
    await sliceUntilFinished(impatient, jobId, 2000, [pipeline]);
    expect(await attemptsOf(database, jobId)).toEqual([1]);
    expect([...calls.values()].sort()).toEqual([...Array(16).fill(1), ...Array(4).fill(2)]);
    await expectExact(jobId, { DONE: 20 });
    await impatient.close();
  });

  test('returns queued items immediately, while running handlers use their grace period', async () => {
    const settings = { blobStore, sliceGraceMs: 60_000 };
    const patient = await openRowmill({ databaseUrl: database.url, settings });
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { pipeline, firstCall } = counted((n) => released.then(() => ({ n })), { concurrency: 2 });
    const jobId = await patient.submit(pipeline, numbered(40));
    const end = new AbortController();
    const slice = patient.runSlice(jobId, 60_000, { pipelines: [pipeline], signal: end.signal });
    await firstCall;
    end.abort();
    await expect
      .poll(async () => (await patient.progress(jobId)).counts)
      .toMatchObject({ PENDING: 38, PROCESSING: 2 });
    release();
    expect(await slice).toMatchObject({ recorded: 2, moreReadyInMs: 0 });
    await patient.close();
  });

  test('reports when the next retry is ready, and does not wait for one that comes too late', async () => {
    const { pipeline, calls } = counted((n) => {
      if (n === 0 && calls.get(0) === 1)
        throw Object.assign(new Error('slow down'), { status: 429, retryAfterMs: 100_000 });
      return { n };
    });
    const jobId = await rowmill.submit(pipeline, numbered(5));
    const report = await rowmill.runSlice(jobId, 60_000, { pipelines: [pipeline] });
    expect(report).toMatchObject({ state: 'RUNNING', finished: false, recorded: 5 });
    expect(report.progress).toMatchObject({ retrying: 1 });
    expect(report.moreReadyInMs).toBeGreaterThan(0);
    expect(report.moreReadyInMs).toBeLessThan(200_000);
    await database.query('update spans set ready_at = now() where job_id = $1', [jobId]);
    await sliceUntilFinished(rowmill, jobId, 1000, [pipeline]);
    expect(calls.get(0)).toBe(2);
    await expectExact(jobId, { DONE: 5 });
  });

  test('comes early if the job is paused, and a further slice returns immediately', async () => {
    const { pipeline, firstCall } = counted((n) => waitMs(20).then(() => ({ n })), { concurrency: 2 });
    const jobId = await rowmill.submit(pipeline, numbered(2000));
    const slice = rowmill.runSlice(jobId, 60_000, { pipelines: [pipeline] });
    await firstCall;
    await rowmill.pause(jobId);
    expect(await slice).toMatchObject({ state: 'PAUSED', finished: false, moreReadyInMs: null });
    expect(await leases(jobId)).toEqual([]);
    expect(await rowmill.runSlice(jobId, 60_000, { pipelines: [] })).toMatchObject({
      state: 'PAUSED',
      recorded: 0,
      moreReadyInMs: null,
    });
    await rowmill.cancel(jobId);
    expect(await rowmill.runSlice(jobId, 60_000, { pipelines: [] })).toMatchObject({
      state: 'CANCELLED',
      finished: true,
    });
  });

  test('comes early if the rest of the job is held by a trial', async () => {
    const { pipeline } = counted((n) => n);
    const jobId = await rowmill.submit(pipeline, numbered(10), { trial: 4 });
    const report = await rowmill.runSlice(jobId, 60_000, { pipelines: [pipeline] });
    expect(report).toMatchObject({ state: 'RUNNING', recorded: 4, moreReadyInMs: null });
    await rowmill.resume(jobId);
    await sliceUntilFinished(rowmill, jobId, 5000, [pipeline]);
    await expectExact(jobId, { DONE: 10 });
  });
});

describe('a slice beside others', () => {
  test('shares a job with another slice: every item is called once', async () => {
    database.keepIfFailed();
    const { pipeline, calls } = counted((n) => waitMs(5).then(() => ({ n })));
    const settings = { blobStore, sliceGraceMs: 60_000 };
    const other = await openRowmill({ databaseUrl: database.url, settings });
    const jobId = await rowmill.submit(pipeline, numbered(600));
    const [mine, others] = await Promise.all([
      sliceUntilFinished(unhurried, jobId, 150, [pipeline]),
      sliceUntilFinished(other, jobId, 150, [pipeline]),
    ]);
    expect([...calls.values()].filter((count) => count !== 1)).toEqual([]);
    const recorded = [...mine, ...others].reduce((sum, report) => sum + report.recorded, 0);
    expect(recorded).toBe(600);
    await expectExact(jobId, { DONE: 600 });
    await other.close();
  });

  test('shares a job with a worker, and leaves other jobs alone', async () => {
    const { pipeline, calls } = counted((n) => waitMs(5).then(() => ({ n })));
    const alone = counted((n) => n);
    const untouched = await rowmill.submit(alone.pipeline, numbered(5));
    const jobId = await rowmill.submit(pipeline, numbered(300));
    const worker = await rowmill.startWorker([pipeline]);
    const reports = await sliceUntilFinished(unhurried, jobId, 200, [pipeline, alone.pipeline]);
    await rowmill.whenFinished(jobId);
    await worker.stop();
    expect(reports.at(-1)).toMatchObject({ state: 'DONE' });
    expect([...calls.values()].filter((count) => count !== 1)).toEqual([]);
    expect(alone.calls.size).toBe(0);
    expect(await rowmill.progress(untouched)).toMatchObject({ counts: { PENDING: 5 } });
    await expectExact(jobId, { DONE: 300 });
  });

  test('unblocks its own job, and no other of the pipeline', async () => {
    const { pipeline, firstCall } = counted((_n, signal) => waitMs(60_000, signal), { concurrency: 1 });
    const jobId = await rowmill.submit(pipeline, numbered(100));
    const other = await rowmill.submit(pipeline, numbered(1));
    const reason = async (id: string) => rowmill.blockedBecause(await rowmill.job(id));
    expect(await reason(jobId)).toBe('no worker is running');
    const end = new AbortController();
    const slice = rowmill.runSlice(jobId, 60_000, { pipelines: [pipeline], signal: end.signal });
    await firstCall;
    await expect.poll(() => reason(jobId)).toBeNull();
    expect(await reason(other)).toBe('no worker is running');
    end.abort();
    await slice;
    expect(await reason(jobId)).toBe('no worker is running');
  });

  test('takes over the leases of dead processes, of its own job only', async () => {
    const { pipeline } = counted((n) => n);
    const [jobId, other] = [
      await rowmill.submit(pipeline, numbered(6)),
      await rowmill.submit(pipeline, numbered(1)),
    ];
    for (const id of [jobId, other])
      await claimItems(contextOf(rowmill).db, { ...claimRequest(id), leaseMs: 1 });
    await sliceUntilFinished(rowmill, jobId, 2000, [pipeline]);
    await expectExact(jobId, { DONE: 6 });
    expect(await leases(other)).toHaveLength(1);
  });
});

describe('the timings of a slice', () => {
  const claimsOf = async (on: Rowmill, jobId: string, pipeline: Pipeline) => {
    const reasons: string[] = [];
    const off = contextOf(on).events.on('claim.made', (claim) => {
      if (claim.jobId === jobId) reasons.push(claim.reason);
    });
    // On a busy machine it may take more than one slice to make a claim.
    for (let slice = 0; slice < 20 && reasons.length === 0; slice += 1)
      await on.runSlice(jobId, 150, { pipelines: [pipeline] });
    off();
    return reasons;
  };

  test('are used by the next slice, also in another process', async () => {
    const { pipeline } = counted((n) => waitMs(10).then(() => ({ n })), { concurrency: 4 });
    const jobId = await rowmill.submit(pipeline, numbered(2000));
    expect((await claimsOf(rowmill, jobId, pipeline))[0]).toBe('first claim');
    const [stored] = await database.query<{ times: { itemMs: number[]; claimMs: number[] } }>(
      `select slice_state -> 'phases' -> 'only' as times from jobs where job_id = $1`,
      [jobId],
    );
    expect(stored!.times.itemMs.length).toBeGreaterThan(0);
    expect(Math.min(...stored!.times.itemMs)).toBeGreaterThan(5);
    expect(stored!.times.claimMs.length).toBeGreaterThan(0);
    const other = await openRowmill({ databaseUrl: database.url, settings: { blobStore } });
    expect((await claimsOf(other, jobId, pipeline))[0]).toMatch(/^p75 item \d/);
    await other.close();
  });

  test('are ignored if they are invalid', async () => {
    const { pipeline } = counted((n) => waitMs(5).then(() => ({ n })));
    // More than three slices can do.
    const jobId = await rowmill.submit(pipeline, numbered(2000));
    const garbage = ['7', '[]', '{"phases": {"only": {"itemMs": ["x", -1, 1e300, null], "claimMs": 3}}}'];
    for (const stored of garbage) {
      await database.query('update jobs set slice_state = $2 where job_id = $1', [jobId, stored]);
      expect((await claimsOf(rowmill, jobId, pipeline))[0]).toBe('first claim');
    }
    await sliceUntilFinished(rowmill, jobId, 2000, [pipeline]);
    await expectExact(jobId, { DONE: 2000 });
  });
});

describe('an invalid slice', () => {
  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 300_001, '5' as unknown as number])(
    'is refused: %s ms',
    async (durationMs) => {
      const { pipeline } = counted((n) => n);
      await expect(rowmill.runSlice(newId(), durationMs, { pipelines: [pipeline] })).rejects.toMatchObject({
        code: 'SLICE_INVALID',
        message: expect.stringContaining('from 1 to 300000'),
      });
    },
  );

  test('is refused with what is missing: the job, its pipeline, version or phases', async () => {
    const named = (name: string, version: string | undefined, ...phases: string[]) =>
      definePipeline({
        name,
        ...(version && { version }),
        phases: phases.map((phase) => ({ name: phase, run: () => null })),
      });
    const name = `made-${newId()}`;
    const jobId = await rowmill.submit(named(name, '2', 'a', 'b'), numbered(1));
    const refused = (given: Pipeline[], id = jobId) =>
      expect(rowmill.runSlice(id, 100, { pipelines: given })).rejects;
    await refused([named('p', undefined, 'a')], newId()).toMatchObject({ code: 'JOB_NOT_FOUND' });
    await refused([]).toMatchObject({
      code: 'PIPELINE_NOT_FOUND',
      message: `cannot run job ${jobId} here: no pipeline was given`,
    });
    await refused([named('p', '2', 'a', 'b')]).toThrow(
      `the given pipelines do not include the pipeline ${name}`,
    );
    await refused([named(name, '1', 'a', 'b')]).toThrow(
      `the given pipelines do not include version 2 of the pipeline ${name}; they have 1`,
    );
    await refused([named(name, '2', 'a', 'c')]).toThrow('the job has a, b, the given pipelines have a, c');
  });
});
