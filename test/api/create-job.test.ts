// Creates jobs over HTTP: from a file, from items, from a configured source.
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newJob } from '../../src/contract/new-job.ts';
import { definePipeline } from '../../src/index.ts';
import { parseSources } from '../../src/ingest/sources/source-config.ts';
import { submitFile } from '../../src/ingest/submit-file.ts';
import { newId } from '../../src/platform/random.ts';
import { csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const pipelines = [doubling];
const folder = mkdtempSync(join(tmpdir(), 'rowmill-api-source-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface JobRow {
  owner_id: string;
  state: string;
  item_count: string;
  params: object;
  name: string;
  sealed: boolean;
  source: { name: string; kind: string } | null;
}

async function jobRow(jobId: string): Promise<JobRow | undefined> {
  const rows = await database.query<JobRow & Record<string, unknown>>(
    `select owner_id, state, item_count, params, name, sealed_at is not null as sealed, source from jobs where job_id = $1`,
    [jobId],
  );
  return rows[0];
}

describe('a job of an upload', () => {
  test('exists when the request is answered, and its rows follow', async () => {
    const { url, context } = await startTestApi(database.url, { pipelines });
    const form = uploadForm(
      { pipeline: 'doubling', name: 'first', params: { factor: '3' }, hold: true },
      csvOf(500, randomInt(1_000_000)),
    );
    const { status, body } = await send(url, 'POST', '/api/jobs', form);
    expect(status).toBe(202);
    expect(body).toEqual({ jobId: expect.any(String), created: true });
    expect(await jobRow(body.jobId)).toMatchObject({
      owner_id: 'local',
      name: 'first',
      params: { factor: 3 },
      source: { name: 'rows.csv', kind: 'upload' },
    });
    await context.background.whenIdle();
    expect(await jobRow(body.jobId)).toMatchObject({ item_count: '500', sealed: true });
  });

  test('is the same job for the same file, or a new one on request', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    const form = (job = {}) => uploadForm({ pipeline: 'doubling', ...job }, csvOf(3, 1000));
    const first = await send(url, 'POST', '/api/jobs', form());
    const second = await send(url, 'POST', '/api/jobs', form());
    expect(second.body).toEqual({ jobId: first.body.jobId, created: false });
    const third = await send(url, 'POST', '/api/jobs', form({ again: true }));
    expect(third.body.created).toBe(true);
    expect(third.body.jobId).not.toBe(first.body.jobId);
  });

  test('with a used idempotency key is refused for another file, and replayed for the same one', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    const key = { 'idempotency-key': newId() };
    const post = (text: string) =>
      send(url, 'POST', '/api/jobs', uploadForm({ pipeline: 'doubling' }, text), key);
    const first = await post(csvOf(2, 2000));
    expect((await post(csvOf(2, 2000))).body).toEqual({ jobId: first.body.jobId, created: false });
    const other = await post(csvOf(2, 3000));
    expect([other.status, other.body.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  test.each([
    ['an unknown pipeline', { pipeline: 'nothing' }, csvOf(1), 404, 'PIPELINE_NOT_FOUND'],
    [
      'params that the pipeline refuses',
      { pipeline: 'doubling', params: { factor: 'x' } },
      csvOf(1),
      400,
      'REQUEST_INVALID',
    ],
    ['unknown options', { pipeline: 'doubling', state: 'DONE' }, csvOf(1), 400, 'REQUEST_INVALID'],
    ['NUL in a name', { pipeline: 'doubling', name: 'a\0b' }, csvOf(1), 400, 'REQUEST_INVALID'],
    [
      'NUL in a mapping',
      { pipeline: 'doubling', mapping: { note: 'a\0' } },
      csvOf(1),
      400,
      'REQUEST_INVALID',
    ],
    ['a missing column', { pipeline: 'doubling' }, 'm,note\n1,a\n', 400, 'COLUMNS_MISSING'],
    ['an empty file', { pipeline: 'doubling' }, '', 400, 'FILE_INVALID'],
    ['items beside the file', { pipeline: 'doubling', items: [] }, csvOf(1), 400, 'REQUEST_INVALID'],
    [
      'a missing job to correct',
      { pipeline: 'doubling', updatesJobId: newId() },
      csvOf(1),
      404,
      'JOB_NOT_FOUND',
    ],
  ])('is refused for %s, and nothing is created', async (_, job, text, status, code) => {
    const { url } = await startTestApi(database.url, { pipelines });
    const before = await database.query('select job_id from jobs');
    const answer = await send(url, 'POST', '/api/jobs', uploadForm(job, text));
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await database.query('select job_id from jobs')).toHaveLength(before.length);
  });

  test('accepts its options as a typed part too, as browsers send them', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    const form = new FormData();
    const options = JSON.stringify({ pipeline: 'doubling', name: 'typed' });
    form.append('job', new Blob([options], { type: 'application/json' }));
    form.append('file', new Blob([csvOf(2, 6000)]), 'rows.csv');
    const { status, body } = await send(url, 'POST', '/api/jobs', form);
    expect(status).toBe(202);
    expect(await jobRow(body.jobId)).toMatchObject({ name: 'typed' });
  });

  test('needs only the file if exactly one pipeline matches it', async () => {
    const bare = (bytes: string | Buffer) => {
      const form = new FormData();
      form.append('file', new Blob([bytes]), 'rows.csv');
      return form;
    };
    const alone = await startTestApi(database.url, { pipelines });
    const made = await send(alone.url, 'POST', '/api/jobs', bare(csvOf(3, randomInt(1_000_000))));
    expect([made.status, made.body.created]).toEqual([202, true]);
    await alone.context.background.whenIdle();
    expect(await jobRow(made.body.jobId)).toMatchObject({ item_count: '3', sealed: true });
    const byFields = (name: string, field: string) =>
      definePipeline({
        name,
        input: z.object({ [field]: z.string() }),
        phases: [{ name: 'only', run: () => ({}) }],
      }) as unknown as typeof doubling;
    const several = await startTestApi(database.url, {
      pipelines: [byFields('books', 'isbn'), byFields('shoes', 'size'), byFields('boots', 'size')],
    });
    const books = await send(several.url, 'POST', '/api/jobs', bare(`isbn,title\n${newId()},a\n`));
    expect(books.status).toBe(202);
    const [row] = await database.query<{ pipeline: string }>('select pipeline from jobs where job_id = $1', [
      books.body.jobId,
    ]);
    expect(row).toEqual({ pipeline: 'books' });
    for (const [header, fits] of [
      ['size', 'shoes, boots'],
      ['other', 'none'],
    ] as const) {
      const { status, body } = await send(several.url, 'POST', '/api/jobs', bare(`${header},b\n1,2\n`));
      expect([status, body.code]).toEqual([400, 'REQUEST_INVALID']);
      expect(body.message).toContain(`match the file rows.csv: ${fits}`);
    }
    const items = await send(several.url, 'POST', '/api/jobs', { items: [{ isbn: '1' }] });
    expect([items.status, items.body.message]).toEqual([
      400,
      'expected the name of a pipeline; this server has books, shoes, boots',
    ]);
  });

  test('is refused if another part follows the file', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    const form = new FormData();
    form.append('file', new Blob([csvOf(1)]), 'rows.csv');
    form.append('job', JSON.stringify({ pipeline: 'doubling' }));
    const { status, body } = await send(url, 'POST', '/api/jobs', form);
    expect([status, body.code]).toEqual([400, 'REQUEST_INVALID']);
    expect(body.message).toBe('expected the field job before the part file');
  });

  test('is refused with the reason if it has more than two parts', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    for (const more of ['job', 'file', 'other']) {
      const form = uploadForm({ pipeline: 'doubling' }, csvOf(1));
      form.append(more, new Blob(['x']), 'more.csv');
      const { status, body } = await send(url, 'POST', '/api/jobs', form);
      expect([more, status, body.message]).toEqual([
        more,
        400,
        'expected one field job and one part file, got more',
      ]);
    }
  });

  test('names the limit that a file exceeds', async () => {
    const { url } = await startTestApi(database.url, {
      pipelines,
      settings: { uploadMaxBytes: 10_000, apiItemsMaxBytes: 1024, apiBodyMaxBytes: 1024 },
    });
    const post = (text: string) => send(url, 'POST', '/api/jobs', uploadForm({ pipeline: 'doubling' }, text));
    const head = 'n,note\n';
    const fits = await post(`${head}${'1'.repeat(10_000 - head.length - 3)},a\n`);
    expect(fits.status).toBe(202);
    const over = await post(`${head}${'1'.repeat(10_000 - head.length - 2)},a\n`);
    expect([over.status, over.body.code]).toEqual([413, 'FILE_TOO_LARGE']);
    expect(over.body.message).toContain('uploadMaxBytes');
  });

  test('names the limit that its columns exceed', async () => {
    const { url } = await startTestApi(database.url, { pipelines, settings: { ingestMaxColumns: 3 } });
    const form = uploadForm({ pipeline: 'doubling' }, 'n,a,b,c\n1,2,3,4\n');
    const { status, body } = await send(url, 'POST', '/api/jobs', form);
    expect([status, body.code]).toEqual([413, 'FILE_TOO_LARGE']);
    expect(body.message).toContain('ingestMaxColumns');
  });

  test('whose reader died is resumed by any server', async () => {
    const context = database.context();
    const bytes = (async function* () {
      yield Buffer.from(csvOf(40, 8000));
    })();
    const { jobId } = await submitFile(
      context,
      doubling,
      { kind: 'upload', name: 'left.csv', bytes },
      { hold: true },
    );
    await database.query(`update jobs set created_at = now() - interval '1 day' where job_id = $1`, [jobId]);
    await startTestApi(database.url, {
      pipelines,
      settings: { sweepMs: 50, blobStore: context.settings.blobStore },
    });
    await expect.poll(() => jobRow(jobId)).toMatchObject({ item_count: '40', sealed: true });
  });

  test('keeps the name of the file as data', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    const form = uploadForm({ pipeline: 'doubling' }, csvOf(2, 4000), '../../etc/pass\twd.csv');
    const { body } = await send(url, 'POST', '/api/jobs', form);
    expect((await jobRow(body.jobId))?.source?.name).not.toMatch(/[/\t]/);
  });
});

describe('a job of items', () => {
  const items = [{ n: 1 }, { n: 2 }];

  test('is sealed when the request is answered', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    const { status, body } = await send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items });
    expect(status).toBe(202);
    expect(await jobRow(body.jobId)).toMatchObject({ item_count: '2', sealed: true, params: { factor: 2 } });
  });

  test('repairs items with characters that the database cannot store', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    const strange = [{ n: '\0', '\0': '\ud800' }];
    const { status, body } = await send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items: strange });
    expect(status).toBe(202);
    const [item] = await database.query(
      'select input, summary, repair is not null as repaired from items where job_id = $1',
      [body.jobId],
    );
    expect(item).toMatchObject({ input: { n: '\ufffd' }, repaired: true });
  });

  test('stays open on request', async () => {
    const { url } = await startTestApi(database.url, { pipelines });
    const { body } = await send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items, open: true });
    expect(await jobRow(body.jobId)).toMatchObject({ item_count: '2', sealed: false });
  });

  test('is one job for many concurrent requests with one key, even with few connections', async () => {
    const { url } = await startTestApi(database.url, { pipelines, settings: { apiConnections: 2 } });
    const key = { 'idempotency-key': newId() };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items }, key)),
    );
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]));
    expect(new Set(answers.map((answer) => answer.body.jobId)).size).toBe(1);
    expect(answers.filter((answer) => answer.body.created)).toHaveLength(1);
    expect(await jobRow(answers[0]!.body.jobId)).toMatchObject({ item_count: '2', sealed: true });
    const other = await send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items: [{ n: 9 }] }, key);
    expect([other.status, other.body.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  });

  test.each([
    ['neither items nor source', {}, 400, 'REQUEST_INVALID'],
    ['both', { items: [], source: { name: 'a', path: 'b' } }, 400, 'REQUEST_INVALID'],
    ['an item that is not an object', { items: [1] }, 400, 'REQUEST_INVALID'],
    ['options of files', { items: [], mapping: { n: 'm' } }, 400, 'REQUEST_INVALID'],
    ['a budget without costs', { items: [], budget: { max: 1 } }, 400, 'BUDGET_INVALID'],
    ['NUL in a name', { items: [], name: 'a\0b' }, 400, 'REQUEST_INVALID'],
    ['NUL in an owner', { items: [], ownerId: 'a\0b' }, 400, 'REQUEST_INVALID'],
    ['half a character', { items: [], params: { factor: '\ud800' } }, 400, 'REQUEST_INVALID'],
    ['an unknown source', { source: { name: 'nothing', path: 'a.csv' } }, 404, 'SOURCE_NOT_FOUND'],
  ])('is refused with %s', async (_, job, status, code) => {
    const { url } = await startTestApi(database.url, { pipelines });
    const answer = await send(url, 'POST', '/api/jobs', { pipeline: 'doubling', ...job });
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  test.each([2000, 200_000])('nested %i levels deep is refused, and nothing is created', async (depth) => {
    const { url } = await startTestApi(database.url, { pipelines });
    const before = await database.query('select job_id from jobs');
    const deep = '['.repeat(depth) + ']'.repeat(depth);
    const bodies = [`{"items":[{"n":1},{"n":${deep}}]`, `{"items":[],"params":{"deep":${deep}}`];
    for (const text of bodies) {
      const response = await fetch(`${url}/api/jobs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `${text},"pipeline":"doubling"}`,
      });
      expect(response.status).toBe(400);
    }
    const form = new FormData();
    form.append('job', `{"pipeline":"doubling","params":{"deep":${deep}}}`);
    form.append('file', new Blob([csvOf(1)]), 'rows.csv');
    expect((await send(url, 'POST', '/api/jobs', form)).status).toBe(400);
    expect(await database.query('select job_id from jobs')).toHaveLength(before.length);
  });

  test('has rows that are passed on unparsed, because walking millions of values would block the server', () => {
    const values = [1, 'two', { three: 3 }];
    const { items } = newJob.parse({ pipeline: 'doubling', items: [{ values }] });
    expect(items![0]!.values).toBe(values);
  });

  test('names the limit that a body exceeds', async () => {
    const { url } = await startTestApi(database.url, { pipelines, settings: { apiItemsMaxBytes: 2000 } });
    const { status, body } = await send(url, 'POST', '/api/jobs', {
      pipeline: 'doubling',
      items: [{ n: 1, note: 'x'.repeat(2000) }],
    });
    expect([status, body.code]).toEqual([413, 'BODY_TOO_LARGE']);
    expect(body.message).toContain('apiItemsMaxBytes');
  });
});

describe('a job of a configured source', () => {
  const sources = parseSources([
    { name: 'inbox', kind: 'folder', path: folder, pipeline: 'doubling', stableMs: 0 },
  ]);
  const make = (path: string, job = {}) => ({
    pipeline: 'doubling',
    source: { name: 'inbox', path },
    ...job,
  });

  test('takes the file once', async () => {
    writeFileSync(join(folder, 'a.csv'), csvOf(4, 5000));
    const { url, context } = await startTestApi(database.url, { pipelines, sources });
    const { status, body } = await send(url, 'POST', '/api/jobs', make('a.csv'));
    expect(status).toBe(202);
    await context.background.whenIdle();
    expect(await jobRow(body.jobId)).toMatchObject({
      item_count: '4',
      source: { kind: 'folder', name: 'a.csv' },
    });
    const again = await send(url, 'POST', '/api/jobs', make('a.csv'));
    expect([again.status, again.body.code]).toEqual([404, 'SOURCE_NOT_FOUND']);
  });

  test('returns a refused file', async () => {
    writeFileSync(join(folder, 'b.csv'), 'm,note\n7,x\n');
    const { url } = await startTestApi(database.url, { pipelines, sources });
    const refused = await send(url, 'POST', '/api/jobs', make('b.csv'));
    expect([refused.status, refused.body.code]).toEqual([400, 'COLUMNS_MISSING']);
    const mapped = await send(url, 'POST', '/api/jobs', make('b.csv', { mapping: { n: 'm' } }));
    expect(mapped.status).toBe(202);
  });

  test('cannot be outside the source', async () => {
    const { url } = await startTestApi(database.url, { pipelines, sources });
    const { status, body } = await send(url, 'POST', '/api/jobs', make('../secret.csv'));
    expect([status, body.code]).toEqual([404, 'SOURCE_NOT_FOUND']);
  });
});
