// Reprocessing: which rows run again, from which phase, and the job afterwards.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { reprocessJob } from '../../src/engine/reprocess/reprocess-job.ts';
import {
  definePipeline,
  fail,
  notFound,
  openRowmill,
  type Rowmill,
  type RowmillWorker,
  skip,
} from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import type { ItemContext } from '../../src/pipeline/item-context.ts';
import type { Phase } from '../../src/pipeline/pipeline.ts';
import { newId } from '../../src/platform/random.ts';
import { beginFinalizing } from '../../src/store/commands/jobs/begin-finalizing.ts';
import { failIngest } from '../../src/store/commands/jobs/fail-ingest.ts';
import { claimFinalize, finishJobRow } from '../../src/store/commands/jobs/finalize-lease.ts';
import { insertSummary } from '../../src/store/commands/jobs/insert-summary.ts';
import { checkInvariants } from '../support/invariants.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

/** The action of the handlers for a row, by its n. Changed between generations. */
let behaviour: (n: number, phase: string) => unknown;
let calls: { n: number; phase: string; generation: number; previous: unknown; word: unknown }[];

const handler = (phase: string): Phase<Record<string, unknown>, unknown, unknown> => ({
  name: phase,
  retry: { overloaded: { maxAttempts: 2, baseMs: 1, capMs: 1 }, not_found: { maxAttempts: 1 } },
  run: (row, context) => {
    const n = Number(row.n);
    calls.push({ n, phase, generation: context.generation, previous: context.previous, word: row.word });
    const does = behaviour(n, phase);
    if (typeof does === 'function') return (does as (c: ItemContext<unknown>) => unknown)(context);
    if (does instanceof Error) throw does;
    return does;
  },
});
const single = definePipeline({ name: 'single', key: 'n', phases: [handler('look')] });
const narrow = definePipeline({
  name: 'narrow',
  key: 'n',
  phases: [{ ...handler('look'), concurrency: 1 } as Phase<Record<string, unknown>, unknown, unknown>],
});
const triple = definePipeline({
  name: 'triple',
  phases: ['first', 'second', 'third'].map(handler),
});

let rowmill: Rowmill;
let worker: RowmillWorker;
let context: EngineContext;

beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  context = contextOf(rowmill);
});
afterAll(() => rowmill.close());
beforeEach(async () => {
  calls = [];
  worker = await rowmill.startWorker([single, triple]);
});
afterEach(() => worker.stop());

const busy = (): Error => Object.assign(new Error('server is busy'), { status: 503 });
const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n, word: `w${n}` }));

async function runJob(count = 10, pipeline = single): Promise<string> {
  const jobId = await rowmill.submit(pipeline, rows(count));
  await rowmill.whenFinished(jobId);
  return jobId;
}

async function checkJob(jobId: string): Promise<void> {
  const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
    rows: await database.query(text, values),
  });
  expect(await checkInvariants({ query } as never, jobId)).toEqual([]);
  expect(await diagnose(database.url, { jobId, blobs: context.blobs })).toMatchObject({ ok: true });
}

async function statusesOf(jobId: string): Promise<string[]> {
  const statuses: string[] = [];
  for await (const { status } of rowmill.results(jobId)) statuses.push(status);
  return statuses;
}

/** 0 to 3 done, 4 and 5 busy, 6 not found, 7 failed permanently, 8 refused, 9 skipped. */
const mixed = (n: number): unknown => {
  if (n === 4 || n === 5) return busy();
  if (n === 6) return notFound();
  if (n === 7) return fail('never');
  if (n === 8) return Object.assign(new Error('bad request'), { status: 400 });
  return n === 9 ? skip('too old') : { value: n };
};

describe('a reprocess selects', () => {
  beforeEach(() => {
    behaviour = mixed;
  });

  test('failed rows by default, except failures that would repeat; old results are kept', async () => {
    const jobId = await runJob();
    const first = (await rowmill.summary(jobId))!;
    expect(first).toMatchObject({
      generation: 1,
      diff: null,
      counts: { DONE: 4, ERROR: 4, NOT_FOUND: 1, SKIPPED: 1 },
    });
    behaviour = (n) => (n === 5 ? busy() : { value: -n });
    calls = [];
    const opened = await rowmill.reprocess(jobId);
    expect(opened).toEqual({ generation: 2, selected: 3, leftOut: { permanent: 2, exhausted: 0 } });
    const second = await rowmill.whenFinished(jobId);
    expect(second).toMatchObject({
      generation: 2,
      state: 'DONE',
      counts: { DONE: 6, ERROR: 3, NOT_FOUND: 0, SKIPPED: 1, CANCELLED: 0 },
      diff: { reprocessed: 3, fixed: 2, newlyFailed: 0, unchanged: 1, added: 0 },
    });
    expect(new Set(calls.map(({ n }) => n))).toEqual(new Set([4, 5, 6]));
    expect(await rowmill.summary(jobId, 1)).toEqual(first);
    expect((await rowmill.progress(jobId)).counts).toMatchObject({ DONE: 6, ERROR: 3, PENDING: 0 });
    const old = await database.query<{ status: string }>(
      'select status from results where job_id = $1 and generation = 1 order by seq',
      [jobId],
    );
    expect(old.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 4 }, () => 'DONE'),
      'ERROR',
      'ERROR',
      'NOT_FOUND',
      'ERROR',
      'ERROR',
      'SKIPPED',
    ]);
    await checkJob(jobId);
  });

  test('rows of error groups, which then count only the remaining rows', async () => {
    const jobId = await runJob();
    const failed = async () =>
      Object.fromEntries((await rowmill.errorGroups(jobId)).map((group) => [group.sample, group.rows]));
    expect(await failed()).toEqual({ 'server is busy': 2, 'not found': 1, never: 1, 'bad request': 1 });
    behaviour = () => ({ value: 1 });
    await rowmill.reprocess(jobId, { statuses: ['NOT_FOUND'] });
    await rowmill.whenFinished(jobId);
    expect(await failed()).toEqual({ 'server is busy': 2, never: 1, 'bad request': 1 });
    await checkJob(jobId);
  });

  test('the whole job', async () => {
    const jobId = await runJob();
    behaviour = (n) => (n === 0 ? busy() : { value: n });
    expect(await rowmill.reprocess(jobId, { statuses: 'all', includePermanent: true })).toMatchObject({
      selected: 10,
      leftOut: { permanent: 0 },
    });
    const { diff, counts } = await rowmill.whenFinished(jobId);
    expect(counts).toMatchObject({ DONE: 9, ERROR: 1 });
    expect(diff).toMatchObject({ reprocessed: 10, fixed: 5, newlyFailed: 1, unchanged: 4, otherResult: 1 });
    expect(diff!.changes).toContainEqual({ before: 'SKIPPED', after: 'DONE', items: 1, otherResult: 1 });
    await checkJob(jobId);
  });

  test.each([
    ['statuses', { statuses: ['SKIPPED', 'DONE'] as const }, [0, 1, 2, 3, 9]],
    ['seqs of any status', { seqs: [[2, 5]] as const }, [2, 3, 4]],
    ['seqs of a status', { seqs: [[2, 7]] as const, statuses: ['NOT_FOUND'] as const }, [6]],
    ['a text that they contain', { search: 'W5' }, [5]],
    ['a text and statuses', { search: 'w', statuses: 'all' as const }, [0, 1, 2, 3, 4, 5, 6, 9]],
    ['an error group', { errorGroup: 'overloaded: server is busy' }, [4, 5]],
    ['a group of permanent failures', { errorGroup: 'permanent: never', includePermanent: true }, [7]],
    ['the phase of their result', { phase: 0 }, [4, 5, 6]],
  ])('rows by %s', async (_, request, expected) => {
    const jobId = await runJob();
    behaviour = (n) => ({ again: n });
    calls = [];
    expect(await rowmill.reprocess(jobId, request)).toMatchObject({ selected: expected.length });
    await rowmill.whenFinished(jobId);
    expect(calls.map(({ n }) => n).sort()).toEqual(expected);
    await checkJob(jobId);
  });

  test('no rows that were tried too often, over all generations', async () => {
    const jobId = await runJob();
    const again = { statuses: ['ERROR'] as const, maxAttempts: 4 };
    expect(await rowmill.reprocess(jobId, again)).toMatchObject({ selected: 2 });
    await rowmill.whenFinished(jobId);
    await expect(rowmill.reprocess(jobId, again)).rejects.toMatchObject({
      code: 'NOTHING_TO_REPROCESS',
      message: expect.stringContaining('2 items reached the attempt limit'),
    });
    expect(await rowmill.reprocess(jobId, { ...again, maxAttempts: 5 })).toMatchObject({ generation: 3 });
    await rowmill.whenFinished(jobId);
    await checkJob(jobId);
  });

  test('nothing: an error that names the rows left out, and changes nothing', async () => {
    behaviour = () => fail('never');
    const jobId = await runJob(3);
    await expect(rowmill.reprocess(jobId)).rejects.toMatchObject({
      code: 'NOTHING_TO_REPROCESS',
      message: expect.stringContaining('3 failures are permanent'),
    });
    expect(await rowmill.job(jobId)).toMatchObject({ generation: 1, state: 'DONE' });
    await checkJob(jobId);
  });

  test.each([
    [{ statuses: [] as const }, 'REPROCESS_INVALID'],
    [{ seqs: [[5, 2]] as const }, 'REPROCESS_INVALID'],
    [{ statuses: ['PENDING'] as never }, 'REPROCESS_INVALID'],
    [{ maxAttempts: 0 }, 'REPROCESS_INVALID'],
    [{ from: 'elsewhere' }, 'REPROCESS_INVALID'],
    [{ seqs: [[0, 11]] as const }, 'ITEM_NOT_FOUND'],
    [{ edits: [{ seq: 10, input: {} }] }, 'ITEM_NOT_FOUND'],
    [{ edits: [{ seq: 1.5, input: {} }] }, 'ITEM_NOT_FOUND'],
    [{ edits: [{ seq: 1, input: 'text' }] }, 'ITEM_INVALID'],
    [{ edits: [4, 4].map((seq) => ({ seq, input: { n: 4 } })) }, 'REPROCESS_INVALID'],
    [{ ifGeneration: 2 }, 'JOB_CONFLICT'],
  ])('nothing for %j: refused with %s', async (request, code) => {
    const jobId = await runJob();
    await expect(rowmill.reprocess(jobId, request)).rejects.toMatchObject({ code });
    expect(await rowmill.job(jobId)).toMatchObject({ generation: 1, state: 'DONE' });
  });
});

describe('rows start', () => {
  beforeEach(() => {
    behaviour = (n, phase) => (phase === 'second' && n < 3 ? busy() : { from: phase, n });
  });

  test('at the phase they failed in, with the stored output of the phase before', async () => {
    const jobId = await runJob(6, triple);
    behaviour = (n, phase) => ({ from: phase, n, again: true });
    calls = [];
    expect(await rowmill.reprocess(jobId)).toMatchObject({ selected: 3 });
    await rowmill.whenFinished(jobId);
    expect(calls.filter(({ phase }) => phase === 'first')).toEqual([]);
    for (const n of [0, 1, 2]) {
      expect(calls).toContainEqual(
        expect.objectContaining({ n, phase: 'second', generation: 2, previous: { from: 'first', n } }),
      );
      expect(calls).toContainEqual(
        expect.objectContaining({ n, phase: 'third', previous: { from: 'second', n, again: true } }),
      );
    }
    expect(await statusesOf(jobId)).toEqual(Array.from({ length: 6 }, () => 'DONE'));
    await checkJob(jobId);
  });

  test('at the first phase if they were completed, or on request', async () => {
    const jobId = await runJob(6, triple);
    calls = [];
    await rowmill.reprocess(jobId, { seqs: [[4, 5]] });
    await rowmill.whenFinished(jobId);
    expect(calls.map(({ phase }) => phase)).toEqual(['first', 'second', 'third']);
    behaviour = (n, phase) => ({ from: phase, n });
    calls = [];
    await rowmill.reprocess(jobId, { seqs: [[0, 1]], from: 'first' });
    await rowmill.whenFinished(jobId);
    expect(calls.map(({ phase }) => phase)).toEqual(['first', 'second', 'third']);
    await checkJob(jobId);
  });

  test('at a named phase if the output before it is stored, otherwise at the first one', async () => {
    const jobId = await runJob(6, triple);
    behaviour = (n, phase) => ({ from: phase, n });
    calls = [];
    await rowmill.reprocess(jobId, { statuses: 'all', from: 'third' });
    await rowmill.whenFinished(jobId);
    expect(calls.filter(({ phase }) => phase === 'first').map(({ n }) => n)).toHaveLength(3);
    expect(calls.filter(({ phase }) => phase === 'third')).toHaveLength(6);
    await checkJob(jobId);
  });
});

describe('edited rows', () => {
  test('run with their new input from the first phase; the old input is kept', async () => {
    behaviour = (n, phase) => (phase === 'second' && n === 1 ? fail('wrong word') : { from: phase });
    const jobId = await runJob(3, triple);
    behaviour = (_, phase) => ({ from: phase });
    calls = [];
    const edits = [{ seq: 1, input: { n: 1, word: 'better', hint: 'new column' } }];
    expect(await rowmill.reprocess(jobId, { edits })).toEqual({
      generation: 2,
      selected: 1,
      leftOut: { permanent: 0, exhausted: 0 },
    });
    await rowmill.whenFinished(jobId);
    expect(calls.map(({ phase, word }) => [phase, word])).toEqual([
      ['first', 'better'],
      ['second', 'better'],
      ['third', 'better'],
    ]);
    const inputs = async (generation: number): Promise<unknown[]> => {
      let text = '';
      for await (const part of rowmill.export(jobId, { format: 'jsonl', generation })) text += String(part);
      return text
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { input: { word: string } }).input.word);
    };
    expect(await inputs(1)).toEqual(['w0', 'w1', 'w2']);
    expect(await inputs(2)).toEqual(['w0', 'better', 'w2']);
    let csv = '';
    for await (const part of rowmill.export(jobId, { format: 'csv' })) csv += String(part);
    expect(csv.split('\r\n')[0]).toContain('hint');
    expect(csv).toContain('new column');
    await checkJob(jobId);
  });

  test('run together with the selected rows; the next generation still uses the edited input', async () => {
    behaviour = mixed;
    const jobId = await runJob();
    calls = [];
    const edits = [{ seq: 4, input: { n: 4, word: 'once' } }];
    expect(await rowmill.reprocess(jobId, { edits, statuses: ['ERROR'] })).toMatchObject({ selected: 2 });
    await rowmill.whenFinished(jobId);
    expect(await rowmill.reprocess(jobId, { statuses: ['ERROR'] })).toMatchObject({ selected: 2 });
    await rowmill.whenFinished(jobId);
    const words = calls.filter(({ n }) => n === 4).map(({ generation, word }) => [generation, word]);
    expect(words).toEqual([2, 2, 3, 3].map((generation) => [generation, 'once']));
    let failed = '';
    for await (const part of rowmill.export(jobId, { format: 'csv', kind: 'unsuccessful' }))
      failed += String(part);
    expect(failed).toContain('once');
    expect(failed).not.toContain('w4');
    await checkJob(jobId);
  });

  test('start at the first phase until its output is newer than the edit', async () => {
    behaviour = (n, phase) => (phase === 'third' && n === 0 ? busy() : { from: phase });
    const jobId = await runJob(2, triple);
    // The edited row is cancelled before any output was stored: its old outputs belong to the old input.
    await worker.stop();
    await rowmill.reprocess(jobId, { edits: [{ seq: 0, input: { n: 0, word: 'new' } }] });
    await rowmill.cancel(jobId);
    worker = await rowmill.startWorker([single, triple]);
    calls = [];
    behaviour = (_, phase) => ({ from: phase });
    await rowmill.reprocess(jobId, { statuses: ['ERROR'] });
    await rowmill.whenFinished(jobId);
    expect(calls.map(({ phase, word }) => [phase, word])).toEqual([
      ['first', 'new'],
      ['second', 'new'],
      ['third', 'new'],
    ]);
    await checkJob(jobId);
  });

  test('must keep the key fields of the row', async () => {
    const { jobId } = await rowmill.submitFile(single, {
      name: 'rows.csv',
      bytes: bytesOf(`n,word\n1,a\n2,b${newId()}\n`),
    });
    behaviour = () => busy();
    await rowmill.whenFinished(jobId);
    await expect(
      rowmill.reprocess(jobId, { edits: [{ seq: 1, input: { n: '3', word: 'b' } }] }),
    ).rejects.toMatchObject({
      code: 'REPROCESS_INVALID',
      message: 'expected the edit of item 1 to keep n, which identifies the row: it is "2"',
    });
    expect(
      await rowmill.reprocess(jobId, { edits: [{ seq: 1, input: { n: '2', word: 'c' } }] }),
    ).toMatchObject({ selected: 1 });
    await rowmill.whenFinished(jobId);
    await checkJob(jobId);
  });
});

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

describe('a generation', () => {
  beforeEach(() => {
    behaviour = mixed;
  });

  test('that is cancelled restores the results that its rows had', async () => {
    const jobId = await runJob();
    await worker.stop();
    await rowmill.reprocess(jobId, { statuses: 'all', includePermanent: true });
    expect((await rowmill.progress(jobId)).counts).toMatchObject({ PENDING: 10, DONE: 0, ERROR: 0 });
    expect(await rowmill.cancel(jobId)).toBe(true);
    expect(await rowmill.job(jobId)).toMatchObject({ state: 'CANCELLED', generation: 2 });
    expect(await rowmill.summary(jobId)).toMatchObject({
      state: 'CANCELLED',
      counts: { DONE: 4, ERROR: 4, NOT_FOUND: 1, SKIPPED: 1, CANCELLED: 0 },
      diff: { reprocessed: 0 },
    });
    expect(
      (await rowmill.errorGroups(jobId)).find(({ sample }) => sample === 'server is busy'),
    ).toMatchObject({
      rows: 2,
    });
    await checkJob(jobId);
    worker = await rowmill.startWorker([single, triple]);
    behaviour = () => ({ value: 1 });
    expect(await rowmill.reprocess(jobId)).toMatchObject({ generation: 3, selected: 3 });
    expect(await rowmill.whenFinished(jobId)).toMatchObject({
      state: 'DONE',
      counts: { DONE: 7, ERROR: 2 },
    });
    await checkJob(jobId);
  });

  test('includes cancelled rows on request', async () => {
    await worker.stop();
    const jobId = await rowmill.submit(single, rows(5));
    await rowmill.cancel(jobId);
    worker = await rowmill.startWorker([single, triple]);
    expect(await rowmill.reprocess(jobId, { statuses: ['CANCELLED'] })).toMatchObject({ selected: 5 });
    expect(await rowmill.whenFinished(jobId)).toMatchObject({
      state: 'DONE',
      counts: { DONE: 4, ERROR: 1 },
    });
    await checkJob(jobId);
  });

  test('drops items emitted before, and adds new ones', async () => {
    behaviour = (n) => (n === 0 ? (c: ItemContext<unknown>) => emitTwo(c, 'old') : { value: n });
    const jobId = await runJob(1);
    expect((await rowmill.summary(jobId))!.total).toBe(3);
    behaviour = (n) => (n === 0 ? (c: ItemContext<unknown>) => emitTwo(c, 'new') : { value: n });
    await rowmill.reprocess(jobId, { seqs: [[0, 1]] });
    const summary = await rowmill.whenFinished(jobId);
    expect(summary).toMatchObject({ total: 4, counts: { DONE: 4 }, diff: { reprocessed: 1, added: 1 } });
    await checkJob(jobId);
  });

  test('is opened by one of many concurrent requests', async () => {
    const jobId = await runJob();
    await worker.stop();
    const asked = await Promise.allSettled(Array.from({ length: 8 }, () => rowmill.reprocess(jobId)));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const each of asked)
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'JOB_CONFLICT' });
    expect(await rowmill.job(jobId)).toMatchObject({ generation: 2 });
    await checkJob(jobId);
  });

  test('waits for the summary of the previous one', async () => {
    await worker.stop();
    const jobId = await endedJob(3);
    const opened = await rowmill.reprocess(jobId, { statuses: 'all' });
    expect(opened).toMatchObject({ generation: 2, selected: 3 });
    expect(await rowmill.summary(jobId, 1)).toMatchObject({ generation: 1, counts: { DONE: 3 } });
    await checkJob(jobId);
  });

  test('is refused while the holder of the finalize lease does not finish', async () => {
    await worker.stop();
    const jobId = await endedJob(3);
    await claimFinalize(context.db, { jobId, workerId: newId(), token: newId(), leaseMs: 60_000 });
    const impatient = { ...context, settings: { ...context.settings, reprocessWaitMs: 50 } };
    await expect(reprocessJob(impatient, jobId)).rejects.toMatchObject({
      code: 'JOB_CONFLICT',
      message: expect.stringContaining('it is FINALIZING'),
    });
  });

  test('is refused for a job that runs, is not sealed or does not exist', async () => {
    await worker.stop();
    const jobId = await rowmill.submit(single, rows(2));
    await expect(rowmill.reprocess(jobId)).rejects.toMatchObject({
      code: 'JOB_CONFLICT',
      hint: expect.stringContaining('Pause it first'),
    });
    const { jobId: open } = await rowmill.createJob(single, { hold: true });
    await expect(rowmill.reprocess(open)).rejects.toMatchObject({
      code: 'JOB_CONFLICT',
      hint: expect.stringContaining('seal the job'),
    });
    await expect(rowmill.reprocess(newId())).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    // whenFinished does not wait for jobs that never finish either.
    await database.query(`update jobs set state = 'FAILED' where job_id = $1`, [jobId]);
    await expect(rowmill.whenFinished(jobId)).rejects.toMatchObject({ code: 'JOB_FAILED' });
    await expect(rowmill.whenFinished(newId())).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
  });
});

describe('rows of an unfinished or failed job', () => {
  test('run in a paused job beside the waiting rows, and both get one summary', async () => {
    await worker.stop();
    const jobId = await rowmill.submit(narrow, rows(10));
    // The first half is done when the job is paused.
    const pausing = async (): Promise<unknown> => {
      await rowmill.pause(jobId);
      // The rows behind it are returned.
      await expect.poll(async () => (await rowmill.progress(jobId)).counts.PENDING).toBe(5);
      return {};
    };
    behaviour = (n) => (n < 3 ? fail('no answer') : n === 4 ? pausing : { value: n });
    await rowmill.runSlice(jobId, 60_000, { pipelines: [narrow] });
    const before = (await rowmill.progress(jobId)).counts;
    expect(before).toMatchObject({ ERROR: 3, PENDING: 5 });
    const failed = { includePermanent: true };
    expect(await rowmill.reprocess(jobId, failed)).toMatchObject({ generation: 2, selected: 3 });
    expect(await rowmill.job(jobId)).toMatchObject({ state: 'PAUSED', generation: 2 });
    expect((await rowmill.progress(jobId)).counts).toMatchObject({ ERROR: 0, PENDING: 8 });
    await expect(rowmill.reprocess(jobId, failed)).rejects.toMatchObject({ code: 'NOTHING_TO_REPROCESS' });
    const edits = [{ seq: 9, input: { n: 9, word: 'new' } }];
    await expect(rowmill.reprocess(jobId, { edits })).rejects.toMatchObject({
      code: 'JOB_CONFLICT',
      message: expect.stringContaining('1 of 1 edited rows'),
    });
    await checkJob(jobId);
    behaviour = (n) => ({ value: n });
    calls = [];
    worker = await rowmill.startWorker([narrow]);
    await rowmill.resume(jobId);
    expect(await rowmill.whenFinished(jobId)).toMatchObject({
      generation: 2,
      outcome: 'succeeded',
      counts: { DONE: 10 },
      phases: [{ done: 10 }],
      diff: { reprocessed: 3, fixed: 3 },
    });
    // Waiting rows keep their own generation, so a service still sees them as the same call.
    expect(calls.map(({ n, generation }) => [n, generation]).sort((a, b) => a[0]! - b[0]!)).toEqual(
      [0, 1, 2, 5, 6, 7, 8, 9].map((n) => [n, n < 3 ? 2 : 1]),
    );
    expect(await rowmill.summary(jobId, 1)).toBeNull();
    await checkJob(jobId);
  });

  test('run again if the file could not be read to its end; rows that never ran are cancelled', async () => {
    behaviour = (n) => (n === 1 ? busy() : { value: n });
    const { jobId } = await rowmill.createJob(single);
    await rowmill.addItems(jobId, rows(4));
    await expect.poll(async () => (await rowmill.progress(jobId)).counts.ERROR).toBe(1);
    await worker.stop();
    await rowmill.addItems(jobId, rows(6).slice(4));
    await failIngest(context.db, jobId, 'the file ends in the middle of a row');
    behaviour = (n) => ({ value: n });
    expect(await rowmill.reprocess(jobId)).toMatchObject({ generation: 2, selected: 1 });
    worker = await rowmill.startWorker([single, triple]);
    expect(await rowmill.whenFinished(jobId)).toMatchObject({ counts: { DONE: 4, CANCELLED: 2 } });
    await checkJob(jobId);
    expect(await rowmill.reprocess(jobId, { statuses: ['CANCELLED'] })).toMatchObject({ selected: 2 });
    expect(await rowmill.whenFinished(jobId)).toMatchObject({ counts: { DONE: 6 } });
    await checkJob(jobId);
  });

  test('run again if the output files could not be written', async () => {
    await worker.stop();
    const jobId = await endedJob(3);
    const token = newId();
    await claimFinalize(context.db, { jobId, workerId: newId(), token, leaseMs: 60_000 });
    await context.db.transaction(async (tx) => {
      await finishJobRow(tx, jobId, token, 'FAILED', 'the disk is full');
      await insertSummary(tx, jobId, 1, 'FAILED', [], null);
    });
    expect(await rowmill.reprocess(jobId, { statuses: ['DONE'] })).toMatchObject({
      generation: 2,
      selected: 3,
    });
    expect(await rowmill.job(jobId)).toMatchObject({ state: 'QUEUED', lastError: null });
  });

  test('continue with the next untried strategy, as often as there are strategies', async () => {
    const tried: [number, string | undefined][] = [];
    const ways = ['name', 'code', 'image', 'shop'];
    const look = definePipeline({
      name: `look-${newId()}`,
      strategies: ways,
      phases: [
        {
          name: 'look',
          retry: { not_found: { baseMs: 1, capMs: 1 } },
          run: (_row, { strategy, generation }) => {
            tried.push([generation, strategy]);
            return generation === 2 && strategy === 'image' ? { found: strategy } : notFound();
          },
        },
      ],
    });
    await worker.stop();
    worker = await rowmill.startWorker([look]);
    const jobId = await rowmill.submit(look, [{ n: 1 }]);
    expect(await rowmill.whenFinished(jobId)).toMatchObject({ counts: { NOT_FOUND: 1 } });
    expect(tried).toEqual(ways.map((way) => [1, way]));
    // As if only two of the strategies had been tried.
    await database.query('delete from attempt_errors where job_id = $1 and attempt > 1', [jobId]);
    tried.length = 0;
    await rowmill.reprocess(jobId);
    expect(await rowmill.whenFinished(jobId)).toMatchObject({ counts: { DONE: 1 } });
    expect(tried).toEqual([[2, 'image']]);
    // A rerun starts with the strategy that succeeded.
    tried.length = 0;
    await rowmill.reprocess(jobId, { statuses: 'all' });
    await rowmill.whenFinished(jobId);
    expect(tried[0]).toEqual([3, 'image']);
    tried.length = 0;
    await rowmill.reprocess(jobId, { edits: [{ seq: 0, input: { n: 2 } }] });
    await rowmill.whenFinished(jobId);
    expect(tried[0], 'a new input starts with the first strategy').toEqual([4, 'name']);
  });
});

function emitTwo({ emit }: ItemContext<unknown>, word: string): unknown {
  emit('child', { n: 100 });
  emit(word, { n: 101 });
  return { word };
}

/** A sealed job whose items are done: FINALIZING, without a finalizer. */
async function endedJob(items: number): Promise<string> {
  const jobId = await jobWithItems(context, { items });
  await database.query(
    `with gone as (delete from spans where job_id = $1),
     ended as (
       insert into result_rows (job_id, seq, generation, phase, attempt, status, result)
       select $1, seq, 1, 0, 1, 'DONE', '{}' from items where job_id = $1
     ),
     booked as (
       insert into ledger (job_id, entry_id, generation, phase, done)
       select $1, gen_random_uuid(), 1, 0, count(*) from items where job_id = $1
     )
     update jobs set sealed_at = now(), state = 'RUNNING' where job_id = $1`,
    [jobId],
  );
  await beginFinalizing(context.db, jobId);
  return jobId;
}
