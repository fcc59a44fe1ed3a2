// Error groups over HTTP: occurrences over time, and actions on all rows of a group: skip them, or edit and rerun
// them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { definePipeline, fail, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { send, uploadForm } from '../support/api-pipelines.ts';
import { checkInvariants } from '../support/invariants.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const runs: number[] = [];
const pipeline = definePipeline({
  name: 'shops',
  key: 'n',
  phases: [
    { name: 'open', run: ({ n }) => ({ n }) },
    {
      name: 'fetch',
      run: ({ n, url }) => {
        runs.push(Number(n));
        if (String(url).startsWith('http:')) return fail(`refused http for row ${n}`);
        if (url === 'gone') throw Object.assign(new Error('shop is gone'), { status: 410 });
        return { fetched: url };
      },
    },
  ],
});
const HTTP = 'permanent: refused http for row <n>';

let rowmill: Rowmill;
let worker: RowmillWorker;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([pipeline]);
});
afterAll(async () => {
  await worker.stop();
  await rowmill.close();
});

/** Creates 30 rows: every third has a URL that is refused, and row 1 has one that is gone. */
async function runJob(): Promise<string> {
  const rows = Array.from({ length: 30 }, (_, n) => ({
    n,
    url: n === 1 ? 'gone' : `${n % 3 === 0 ? 'http' : 'https'}://shop.example/${n}`,
    country: 'de',
  }));
  const jobId = await rowmill.submit(pipeline, rows);
  await rowmill.whenFinished(jobId);
  runs.length = 0;
  return jobId;
}

async function checkJob(jobId: string): Promise<void> {
  const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
    rows: await database.query(text, values),
  });
  expect(await checkInvariants({ query } as never, jobId, { afterSweep: true })).toEqual([]);
  expect(await diagnose(database.url, { jobId, blobs: contextOf(rowmill).blobs })).toMatchObject({
    ok: true,
  });
}

const auditOf = (jobId: string, action: string) =>
  database.query<{ detail: unknown }>('select detail from audit where subject = $1 and action = $2', [
    `job ${jobId}`,
    action,
  ]);

test('a group has its occurrences over time', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await runJob();
  const { body } = await send(url, 'GET', `/api/jobs/${jobId}/errors`);
  expect(body.items).toHaveLength(2);
  const [group] = body.items;
  expect(group).toMatchObject({ signature: HTTP, phase: 1, rows: 10, status: 'ERROR', occurrences: 10 });
  expect(group.trend.counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(10);
  expect(group.trend.from).toBe(group.firstSeen);
  expect(group.trend.stepMs).toBeGreaterThanOrEqual(1000);
});

test('groups are paged by size without gaps, with totals, and found by their message', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await runJob();
  await database.query(
    `insert into error_groups (job_id, generation, phase, signature, error_class, sample, sample_seq, occurrences, failed)
     select $1, 1, 0, 'not_found: shop ' || n, 'not_found', 'Shop ' || n, n, 5, n % 3 from generate_series(1, 40) n`,
    [jobId],
  );
  const seen: { signature: string; rows: number }[] = [];
  let cursor = '';
  for (let pages = 0; pages < 10; pages += 1) {
    const { body } = await send(url, 'GET', `/api/jobs/${jobId}/errors?limit=7${cursor}`);
    expect(body).toMatchObject({
      total: 42,
      matching: { ERROR: 10, NOT_FOUND: 41 },
      all: { ERROR: 10, NOT_FOUND: 41 },
    });
    seen.push(...body.items);
    if (body.next === null) break;
    cursor = `&cursor=${body.next}`;
  }
  expect(new Set(seen.map(({ signature }) => signature)).size).toBe(42);
  expect(seen).toHaveLength(42);
  expect(seen.map(({ rows }) => rows)).toEqual(seen.map(({ rows }) => rows).toSorted((a, b) => b - a));
  const { body } = await send(url, 'GET', `/api/jobs/${jobId}/errors?search=sHOp 1&limit=2`);
  expect(body).toMatchObject({
    total: 11,
    matching: { ERROR: 0, NOT_FOUND: 11 },
    all: { ERROR: 10, NOT_FOUND: 41 },
  });
  expect(body.items[0]).toMatchObject({
    pattern: 'shop 11',
    status: 'NOT_FOUND',
    fixer: 'row owner',
    suggestion: 'Check the input, then edit or skip',
  });
});

test('acts on several groups at once, in one run', async () => {
  const { url, context } = await startTestApi(database.url);
  const jobId = await runJob();
  const errorGroups = [{ errorGroup: HTTP, phase: 1 }, { errorGroup: 'not_found: shop is gone' }];
  const other = { scope: 'errorGroup', errorGroups: [{ errorGroup: HTTP, phase: 0 }] };
  const none = await send(url, 'POST', `/api/jobs/${jobId}/reprocess/preview`, other);
  expect(none.body).toMatchObject({ selected: 0 });
  const all = { scope: 'errorGroup', errorGroups, includePermanent: true };
  const preview = await send(url, 'POST', `/api/jobs/${jobId}/reprocess/preview`, all);
  expect(preview.body).toMatchObject({ selected: 11 });
  const query = new URLSearchParams({ format: 'jsonl', errorGroups: JSON.stringify(errorGroups) });
  const file = await fetch(`${url}/api/jobs/${jobId}/export?${query}`);
  expect((await file.text()).trimEnd().split('\n')).toHaveLength(11);
  const edit = { errorGroups, change: { field: 'url', find: 'http:', replace: 'https:' } };
  const edited = await send(url, 'POST', `/api/jobs/${jobId}/errors/edit/preview`, edit);
  expect(edited.body).toMatchObject({ rows: 11, changed: 10 });

  const skip = { errorGroups, reason: 'closed' };
  const skipped = await send(url, 'POST', `/api/jobs/${jobId}/errors/skip`, skip);
  expect([skipped.status, skipped.body]).toEqual([202, { generation: 2, selected: 11 }]);
  await context.background.whenIdle();
  expect(await rowmill.whenFinished(jobId)).toMatchObject({ counts: { DONE: 19, SKIPPED: 11 } });
  const { body } = await send(url, 'GET', `/api/jobs/${jobId}/generations`);
  expect(body.items[0].selection).toEqual({ errorGroups, skipped: 'closed' });
  await checkJob(jobId);
});

test('refuses an action without a group, which would take every failed row', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await runJob();
  const change = { field: 'country', to: 'fr' };
  const both = { errorGroup: HTTP, errorGroups: [{ errorGroup: HTTP }] };
  for (const groups of [{}, both, { phase: 1, errorGroups: both.errorGroups }])
    for (const [path, rest] of [
      ['edit', { change }],
      ['edit/preview', { change }],
      ['skip', { reason: 'no' }],
    ] as const) {
      const refused = await send(url, 'POST', `/api/jobs/${jobId}/errors/${path}`, { ...groups, ...rest });
      expect([refused.status, refused.body.code]).toEqual([400, 'REPROCESS_INVALID']);
    }
  const query = new URLSearchParams({ format: 'jsonl', errorGroups: '[]' });
  expect((await send(url, 'GET', `/api/jobs/${jobId}/export?${query}`)).body.code).toBe('EXPORT_INVALID');
  expect((await rowmill.job(jobId))!.generation).toBe(1);
});

test('skips rows of a group with a reason, in a new generation and without running them', async () => {
  const { url, context } = await startTestApi(database.url);
  const jobId = await runJob();
  const request = { errorGroup: HTTP, phase: 1, reason: 'shops without https are not ours', ifGeneration: 1 };
  const skipped = await send(url, 'POST', `/api/jobs/${jobId}/errors/skip`, request);
  expect([skipped.status, skipped.body]).toEqual([202, { generation: 2, selected: 10 }]);
  await context.background.whenIdle();
  const summary = await rowmill.whenFinished(jobId);
  expect(summary).toMatchObject({
    generation: 2,
    state: 'DONE',
    counts: { DONE: 19, ERROR: 0, NOT_FOUND: 1, SKIPPED: 10 },
    diff: { reprocessed: 10, newlyFailed: 0 },
  });
  expect(runs).toEqual([]);
  await checkJob(jobId);
  const row = await send(url, 'GET', `/api/jobs/${jobId}/items/3`);
  expect(row.body).toMatchObject({
    status: 'SKIPPED',
    result: { reason: 'shops without https are not ours' },
    results: [
      { generation: 2, status: 'SKIPPED' },
      { generation: 1, status: 'ERROR' },
    ],
  });
  const groups = await send(url, 'GET', `/api/jobs/${jobId}/errors`);
  expect(groups.body.items.map(({ rows }: { rows: number }) => rows)).toEqual([1]);
  expect(await auditOf(jobId, 'job.skip')).toEqual([
    { detail: { generation: 2, selected: 10, skipped: 'shops without https are not ours' } },
  ]);
  // A repeated click meets another generation, and without that check nothing to skip.
  const again = await send(url, 'POST', `/api/jobs/${jobId}/errors/skip`, request);
  expect([again.status, again.body.code]).toEqual([409, 'JOB_CONFLICT']);
  const { ifGeneration: _, ...unguarded } = request;
  const nothing = await send(url, 'POST', `/api/jobs/${jobId}/errors/skip`, unguarded);
  expect([nothing.status, nothing.body.code]).toEqual([409, 'NOTHING_TO_REPROCESS']);
  await checkJob(jobId);
});

test('exactly one of several concurrent skips succeeds', async () => {
  const { url, context } = await startTestApi(database.url);
  const jobId = await runJob();
  const body = { errorGroup: HTTP, reason: 'no', ifGeneration: 1 };
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => send(url, 'POST', `/api/jobs/${jobId}/errors/skip`, body)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409, 409, 409]);
  await context.background.whenIdle();
  await rowmill.whenFinished(jobId);
  await checkJob(jobId);
});

test('reruns skipped rows like any others', async () => {
  const { url, context } = await startTestApi(database.url);
  const jobId = await runJob();
  await send(url, 'POST', `/api/jobs/${jobId}/errors/skip`, { errorGroup: HTTP, reason: 'not yet' });
  await context.background.whenIdle();
  await rowmill.reprocess(jobId, { statuses: ['SKIPPED'] });
  expect(await rowmill.whenFinished(jobId)).toMatchObject({
    generation: 3,
    counts: { ERROR: 10, SKIPPED: 0 },
  });
  expect(runs.toSorted((a, b) => a - b)).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
  await checkJob(jobId);
});

test('previews an edit, applies it to every row of the group, and reruns them', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await runJob();
  const change = { field: 'url', find: 'http:', replace: 'https:' };
  const request = { errorGroup: HTTP, phase: 1, change, ifGeneration: 1 };
  const preview = await send(url, 'POST', `/api/jobs/${jobId}/errors/edit/preview`, request);
  expect(preview.status).toBe(200);
  expect(preview.body).toMatchObject({ rows: 10, changed: 10, more: false });
  expect(preview.body.samples[1]).toEqual({
    seq: 3,
    before: 'http://shop.example/3',
    after: 'https://shop.example/3',
  });
  expect((await rowmill.job(jobId))!.generation).toBe(1);

  const edited = await send(url, 'POST', `/api/jobs/${jobId}/errors/edit`, request);
  expect([edited.status, edited.body]).toEqual([
    202,
    { generation: 2, selected: 10, unchanged: 0, more: false },
  ]);
  expect(await rowmill.whenFinished(jobId)).toMatchObject({ counts: { DONE: 29, ERROR: 0, NOT_FOUND: 1 } });
  expect(runs.toSorted((a, b) => a - b)).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
  const row = await send(url, 'GET', `/api/jobs/${jobId}/items/3`);
  expect(row.body).toMatchObject({
    status: 'DONE',
    input: { n: 3, url: 'https://shop.example/3', country: 'de' },
    originalInput: { n: 3, url: 'http://shop.example/3', country: 'de' },
    result: { fetched: 'https://shop.example/3' },
  });
  const { body } = await send(url, 'GET', `/api/jobs/${jobId}/generations`);
  expect(body.items.find((each: { generation: number }) => each.generation === 2).selection).toEqual({
    edited: 10,
    errorGroup: HTTP,
    phase: 1,
    change,
  });
  expect(await auditOf(jobId, 'job.reprocess')).toMatchObject([{ detail: { edited: 10, field: 'url' } }]);
  await checkJob(jobId);
});

test('does not rerun rows that an edit leaves unchanged', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await runJob();
  const edit = (change: object) =>
    send(url, 'POST', `/api/jobs/${jobId}/errors/edit`, { errorGroup: HTTP, change });
  const same = await edit({ field: 'country', to: 'de' });
  expect([same.status, same.body.code]).toEqual([409, 'NOTHING_TO_REPROCESS']);
  const some = await edit({ field: 'url', find: 'http://shop.example/3', replace: 'https://x/' });
  expect(some.body).toMatchObject({ selected: 1, unchanged: 9 });
  await rowmill.whenFinished(jobId);
  expect(runs).toEqual([3]);
  await checkJob(jobId);
});

test('does not edit the key of a row', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [pipeline] });
  const file = uploadForm({ pipeline: 'shops' }, 'n,url\n1,http://x\n2,http://y\n');
  const { jobId } = (await send(url, 'POST', '/api/jobs', file)).body;
  await rowmill.whenFinished(jobId);
  const request = { errorGroup: HTTP, change: { field: 'n', to: '5' } };
  for (const path of ['edit', 'edit/preview']) {
    const refused = await send(url, 'POST', `/api/jobs/${jobId}/errors/${path}`, request);
    expect([refused.status, refused.body.code]).toEqual([400, 'REPROCESS_INVALID']);
  }
});

test('leaves a running job alone', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await rowmill.submit(pipeline, [{ n: 0, url: 'http://x' }], { hold: true });
  const skip = await send(url, 'POST', `/api/jobs/${jobId}/errors/skip`, { errorGroup: HTTP, reason: 'no' });
  expect([skip.status, skip.body.code]).toEqual([409, 'JOB_CONFLICT']);
});
