// Actions on a job over HTTP, while it runs and afterwards.
import { expect, test } from 'vitest';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { newId } from '../../src/platform/random.ts';
import { doubling, send } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

/** A handler that runs until it is aborted. */
function endless(): {
  pipeline: ReturnType<typeof definePipeline>;
  started: Promise<void>;
  aborted: Promise<void>;
} {
  let start: () => void;
  let abort: () => void;
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const aborted = new Promise<void>((resolve) => {
    abort = resolve;
  });
  const pipeline = definePipeline({
    name: 'endless',
    phases: [
      {
        name: 'wait',
        run: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            start();
            signal.addEventListener('abort', () => {
              abort();
              reject(signal.reason as Error);
            });
          }),
      },
    ],
  });
  return { pipeline, started, aborted };
}

async function makeItems(url: string, items: object[], options = {}): Promise<string> {
  const { status, body } = await send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items, ...options });
  expect(status).toBe(202);
  return body.jobId as string;
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

test('a job is paused, resumed and run to its end inside requests', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, numbers(20));
  const post = (action: string) => send(url, 'POST', `/api/jobs/${jobId}/${action}`);
  expect((await post('pause')).body).toEqual({ changed: true, state: 'PAUSED' });
  expect((await post('pause')).body).toEqual({ changed: false, state: 'PAUSED' });
  expect((await post('slice?durationMs=1000')).body).toMatchObject({
    state: 'PAUSED',
    finished: false,
    recorded: 0,
  });
  expect((await post('resume')).body).toMatchObject({ changed: true, state: 'QUEUED', released: 0 });
  expect((await post('resume')).body).toMatchObject({ changed: false });
  // The former name of the route.
  const slice = await post('kickoff?durationMs=60000');
  expect(slice.status).toBe(200);
  expect(slice.body).toMatchObject({ state: 'DONE', finished: true, moreReadyInMs: null });
  const refused = await post('pause');
  expect([refused.status, refused.body.code]).toEqual([409, 'JOB_CONFLICT']);
});

test('a job with an exhausted budget cannot be resumed before the budget is raised', async () => {
  const paid = definePipeline({ name: 'paid', phases: [{ name: 'only', cost: 1, run: (row) => row }] });
  const { url } = await startTestApi(database.url, { pipelines: [paid] });
  const jobId = await makeItems(url, numbers(5), { pipeline: 'paid', budget: { max: 2 } });
  const post = (action: string) => send(url, 'POST', `/api/jobs/${jobId}/${action}`);
  expect((await post('kickoff?durationMs=60000')).body).toMatchObject({ state: 'PAUSED', recorded: 2 });
  const refused = await post('resume');
  expect(refused.status).toBe(409);
  expect(refused.body).toMatchObject({
    code: 'BUDGET_USED_UP',
    message: `cannot resume job ${jobId}: budget of 2 reached: 2 spent`,
    hint: expect.stringMatching(/^Raise the budget of the job with PATCH \/api\/v1\/jobs\/:jobId/),
  });
  expect((await send(url, 'GET', `/api/jobs/${jobId}`)).body).toMatchObject({
    state: 'PAUSED',
    pausedBecause: 'budget of 2 reached: 2 spent',
  });
  expect((await send(url, 'PATCH', `/api/jobs/${jobId}`, { budget: { max: 5 } })).status).toBe(200);
  expect((await post('resume')).body).toMatchObject({ changed: true });
  expect((await post('kickoff?durationMs=60000')).body).toMatchObject({ state: 'DONE', finished: true });
});

test('exactly one of many concurrent resumes, pauses and cancellations reports a change', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, numbers(1), { open: true, hold: true });
  for (const action of ['resume', 'pause', 'resume', 'cancel']) {
    const path = `/api/jobs/${jobId}/${action}`;
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(url, 'POST', path)));
    expect(
      answers.filter(({ body }) => body.changed),
      action,
    ).toHaveLength(1);
  }
  const trial = await makeItems(url, numbers(3), { trial: 1 });
  const path = `/api/jobs/${trial}/resume`;
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(url, 'POST', path)));
  expect(answers.filter(({ body }) => body.changed).map(({ body }) => body.released)).toEqual([2]);
});

test('a cancellation is answered immediately, and then finishes every row', async () => {
  const { url, context } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, numbers(50));
  const { status, body } = await send(url, 'POST', `/api/jobs/${jobId}/cancel`);
  expect(status).toBe(202);
  expect(body.changed).toBe(true);
  await context.background.whenIdle();
  const [job] = await database.query<{ state: string; results: string }>(
    `select state, (select count(*) from results where job_id = $1 and status = 'CANCELLED') as results
     from jobs where job_id = $1`,
    [jobId],
  );
  expect(job).toEqual({ state: 'CANCELLED', results: '50' });
  expect((await send(url, 'POST', `/api/jobs/${jobId}/cancel`)).body).toEqual({
    changed: false,
    state: 'CANCELLED',
  });
});

test('items are appended once each, until the job is sealed', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, numbers(2), { open: true });
  const append = (items: object[], from?: number) =>
    send(url, 'POST', `/api/jobs/${jobId}/items`, { items, ...(from !== undefined && { from }) });
  expect((await append(numbers(3), 2)).body).toEqual({ itemCount: 5, appended: 3 });
  expect((await append(numbers(3), 2)).body).toEqual({ itemCount: 5, appended: 0 });
  // The first of these was stored by a request that was interrupted.
  expect((await append([{ n: 2 }, ...numbers(3)], 4)).body).toEqual({ itemCount: 8, appended: 3 });
  // Other items were appended after it meanwhile.
  expect((await append(numbers(3), 2)).body).toEqual({ itemCount: 8, appended: 0 });
  const gap = await append(numbers(1), 9);
  expect([gap.status, gap.body.code]).toEqual([409, 'JOB_CONFLICT']);
  expect((await append(numbers(1))).body).toEqual({ itemCount: 9, appended: 1 });
  const many = await Promise.all(Array.from({ length: 6 }, () => append(numbers(2), 9)));
  expect(many.map(({ body }) => body.appended).sort()).toEqual([0, 0, 0, 0, 0, 2]);
  const audit = await database.query<{ items: number }>(
    `select (detail ->> 'items')::int as items from audit where subject = $1 and action = 'job.items_append' order by audit_id`,
    [`job ${jobId}`],
  );
  expect(audit.map(({ items }) => items)).toEqual([3, 3, 1, 2]);
  expect((await send(url, 'POST', `/api/jobs/${jobId}/seal`)).body).toEqual({ itemCount: 11 });
  expect((await send(url, 'POST', `/api/jobs/${jobId}/seal`)).body).toEqual({ itemCount: 11 });
  expect((await append(numbers(2), 9)).body).toEqual({ itemCount: 11, appended: 0 });
  const late = await append(numbers(1));
  expect([late.status, late.body.code]).toEqual([409, 'JOB_NOT_INGESTING']);
});

test('different items at a taken position are refused, and none of them is stored', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, numbers(10), { open: true });
  const append = (items: object[], from: number) =>
    send(url, 'POST', `/api/jobs/${jobId}/items`, { items, from });
  const others = (count: number) => numbers(count).map(({ n }) => ({ n: n + 100 }));
  expect((await append(numbers(5), 10)).body).toEqual({ itemCount: 15, appended: 5 });
  for (const items of [
    others(5),
    others(7),
    [...numbers(4), { n: 9 }],
    [...numbers(4), { n: 9 }, { n: 10 }],
  ]) {
    const { status, body, headers } = await append(items, 10);
    expect([status, body.code, headers.get('retry-after')]).toEqual([409, 'ITEMS_DIFFER', null]);
  }
  // Several concurrent requests with different items at one position: one is stored as a whole.
  const rivals = await Promise.all(
    Array.from({ length: 8 }, (_, each) => append([{ n: each }, { n: each }, { n: each }], 15)),
  );
  expect(rivals.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)]);
  expect(new Set(rivals.filter(({ status }) => status === 409).map(({ body }) => body.code))).toEqual(
    new Set(['ITEMS_DIFFER']),
  );
  const stored = await database.query<{ n: number }>(
    `select (input ->> 'n')::int as n from items where job_id = $1 and seq >= 10 order by seq`,
    [jobId],
  );
  const won = rivals.findIndex(({ status }) => status === 200);
  expect(stored.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, won, won, won]);
});

test('positions count appended items, not emitted ones', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, numbers(2), { open: true });
  const append = (items: object[], from: number) =>
    send(url, 'POST', `/api/jobs/${jobId}/items`, { items, from });
  const emit = (seq: number) =>
    database.query(
      `with added as (
         insert into items (job_id, seq, input_bytes, input, parent_seq, depth) values ($1, $2, 8, '{"n": 2}', 0, 1)
       )
       update jobs set item_count = item_count + 1, ingest_report = ingest_report
         || jsonb_build_object('emitted', coalesce((ingest_report ->> 'emitted')::bigint, 0) + 1)
       where job_id = $1`,
      [jobId, seq],
    );
  await emit(2);
  expect((await append(numbers(3), 2)).body).toEqual({ itemCount: 6, appended: 3 });
  await emit(6);
  expect((await append(numbers(3), 2)).body).toMatchObject({ appended: 0 });
  expect((await append([{ n: 2 }, { n: 7 }], 4)).body).toEqual({ itemCount: 8, appended: 1 });
  expect((await append([{ n: 1 }, { n: 7 }], 4)).body.code).toBe('ITEMS_DIFFER');
});

test('limits concurrent time slices, and ends them when their client disconnects', async () => {
  const { pipeline, started, aborted } = endless();
  const { url } = await startTestApi(database.url, {
    pipelines: [pipeline, doubling],
    settings: { slicesAtOnce: 1, sliceGraceMs: 0 },
  });
  const jobId = await makeItems(url, numbers(1), { pipeline: 'endless' });
  const gone = new AbortController();
  const first = fetch(`${url}/api/jobs/${jobId}/slice?durationMs=60000`, {
    method: 'POST',
    signal: gone.signal,
  });
  await started;
  const second = await send(url, 'POST', `/api/jobs/${jobId}/slice?durationMs=30000`);
  expect([second.status, second.body.code]).toEqual([429, 'TOO_MANY_SLICES']);
  expect(second.body.message).toContain('slicesAtOnce');
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
  gone.abort();
  await expect(first).rejects.toThrow();
  await aborted;
  // The slot is free again.
  const other = await makeItems(url, numbers(1));
  await expect
    .poll(async () => (await send(url, 'POST', `/api/jobs/${other}/slice?durationMs=30000`)).status)
    .toBe(200);
});

test('a slice needs the pipeline of the job and a duration within bounds', async () => {
  const first = await startTestApi(database.url, { pipelines: [doubling], settings: { sliceMaxMs: 5000 } });
  const jobId = await makeItems(first.url, numbers(1));
  const tooLong = await send(first.url, 'POST', `/api/jobs/${jobId}/slice?durationMs=5001`);
  expect([tooLong.status, tooLong.body.code]).toEqual([400, 'SLICE_INVALID']);
  const second = await startTestApi(database.url);
  const unknown = await send(second.url, 'POST', `/api/jobs/${jobId}/slice`);
  expect([unknown.status, unknown.body.code]).toEqual([404, 'PIPELINE_NOT_FOUND']);
});

test('the scope job reruns failed rows, and does not pay for DONE rows again', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, numbers(5));
  await database.query('delete from spans where job_id = $1', [jobId]);
  await database.query(
    `with ended as (
       insert into result_rows (job_id, seq, generation, phase, attempt, status, error_class)
       select $1, n, 1, 0, 1, s.status::item_status, case when s.status = 'ERROR' then 'timeout' end
       from unnest(array['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED']) with ordinality as s(status, o),
         lateral (select o - 1 as n) x
     )
     update jobs set state = 'DONE' where job_id = $1`,
    [jobId],
  );
  const { status, body } = await send(url, 'POST', `/api/jobs/${jobId}/reprocess`, { scope: 'job' });
  expect([status, body]).toEqual([202, expect.objectContaining({ generation: 2, selected: 2 })]);
  const waiting = await database.query<{ items: string }>(
    'select range_agg(items)::text as items from spans where job_id = $1',
    [jobId],
  );
  expect(waiting).toEqual([{ items: '{[1,3)}' }]);
});

test('failed rows are reprocessed by every scope', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, [{ n: 1 }, { n: 13 }, { n: 3 }]);
  // A slice leaves finalizing to a sweep that has already begun it.
  const run = async () => {
    const path = `/api/jobs/${jobId}/slice?durationMs=60000`;
    while (!(await send(url, 'POST', path)).body.finished);
  };
  const reprocess = (body: object) => send(url, 'POST', `/api/jobs/${jobId}/reprocess`, body);
  await run();
  const everything = { scope: 'job', statuses: ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'] };
  expect((await reprocess(everything)).body).toMatchObject({
    generation: 2,
    selected: 2,
    leftOut: { permanent: 1 },
  });
  await run();
  expect((await reprocess({ ...everything, includePermanent: true })).body).toMatchObject({
    generation: 3,
    selected: 3,
  });
  await run();
  expect((await reprocess({ scope: 'items', itemIds: ['2', 0, 2] })).body).toMatchObject({ selected: 2 });
  await run();
  const filter = {
    scope: 'filter',
    statuses: ['ERROR'],
    search: '13',
    includePermanent: true,
    resetAttempts: true,
  };
  expect((await reprocess(filter)).body).toMatchObject({ selected: 1 });
  await run();
  const [group] = await database.query<{ signature: string }>(
    'select signature from results where job_id = $1 and signature is not null limit 1',
    [jobId],
  );
  const byGroup = { scope: 'errorGroup', errorGroup: group!.signature, includePermanent: true };
  expect((await reprocess(byGroup)).body).toMatchObject({ selected: 1 });
  await run();
  const edited = await reprocess({ scope: 'items', edits: [{ seq: 1, input: { n: 12 } }], ifGeneration: 6 });
  expect(edited.body).toMatchObject({ generation: 7, selected: 1 });
  await run();
  const [row] = await database.query<{ result: object }>(
    'select result from results where job_id = $1 and seq = 1 and generation = 7',
    [jobId],
  );
  expect(row!.result).toEqual({ doubled: 24 });
  const strange = { n: 5, note: 'a\0b', 'x\0': 1 };
  expect((await reprocess({ scope: 'items', edits: [{ seq: 0, input: strange }] })).status).toBe(202);
  await run();
  const refusals: [object, number, string][] = [
    [{ scope: 'items' }, 400, 'REPROCESS_INVALID'],
    [{ scope: 'errorGroup' }, 400, 'REPROCESS_INVALID'],
    [{ scope: 'job', itemIds: [1] }, 400, 'REPROCESS_INVALID'],
    [{ scope: 'filter', from: 'nothing' }, 400, 'REPROCESS_INVALID'],
    [{ scope: 'other' }, 400, 'REQUEST_INVALID'],
    [{ scope: 'errorGroup', errorGroup: 'a\0' }, 400, 'REQUEST_INVALID'],
    [{ scope: 'items', itemIds: [3] }, 404, 'ITEM_NOT_FOUND'],
    [{ scope: 'items', itemIds: ['1e1'] }, 400, 'REQUEST_INVALID'],
    [{ scope: 'items', itemIds: [''] }, 400, 'REQUEST_INVALID'],
    [{ scope: 'job' }, 409, 'NOTHING_TO_REPROCESS'],
    [{ scope: 'filter' }, 409, 'NOTHING_TO_REPROCESS'],
    [{ scope: 'job', ifGeneration: 1 }, 409, 'JOB_CONFLICT'],
  ];
  for (const [body, status, code] of refusals) {
    const answer = await reprocess(body);
    expect([body, answer.status, answer.body.code]).toEqual([body, status, code]);
  }
});

test.each(['pause', 'resume', 'cancel', 'seal', 'slice'])(
  '%s of a missing job is not found',
  async (action) => {
    const { url } = await startTestApi(database.url);
    const { status, body } = await send(url, 'POST', `/api/jobs/${newId()}/${action}`);
    expect([status, body.code]).toEqual([404, 'JOB_NOT_FOUND']);
  },
);

test('a body that is not JSON is refused', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await makeItems(url, numbers(1), { open: true });
  const form = new FormData();
  form.append('items', '[]');
  const { status, body } = await send(url, 'POST', `/api/jobs/${jobId}/items`, form);
  expect([status, body.code]).toEqual([415, 'MEDIA_TYPE_UNSUPPORTED']);
});
