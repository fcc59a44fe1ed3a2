// Files uploaded in parts: an interrupted upload resumes where it stopped, the job has exactly the bytes sent, no
// owner reaches the upload of another, and abandoned uploads leave nothing in the store.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import type { z } from 'zod';
import { createClient } from '../../src/client/create-client.ts';
import { checkReport } from '../../src/contract/new-job.ts';
import { upload as uploadSchema } from '../../src/contract/uploads.ts';
import { collectBlobs } from '../../src/engine/services/blob-collector.ts';
import { pruneUploads } from '../../src/engine/uploads/remove-upload.ts';
import { openBlobStore } from '../../src/platform/blob-store/open-blob-store.ts';
import { newId } from '../../src/platform/random.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { addUser, sessionHeaders } from '../support/account-factory.ts';
import { type Answer, csvOf, doubling, send } from '../support/api-pipelines.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const blobStore = mkdtempSync(join(tmpdir(), 'rowmill-uploads-'));
const store = openBlobStore(blobStore);
afterAll(async () => {
  await store.close();
  rmSync(blobStore, { recursive: true, force: true });
});
beforeAll(async () => {
  await addUser(database, 'ada');
  await addUser(database, 'ben');
});

const start = (settings: Partial<Settings> = {}): Promise<RunningApi> =>
  startTestApi(database.url, {
    pipelines: [doubling],
    settings: { blobStore, sweepMs: 60_000, ...settings },
  });

async function begin(api: RunningApi, bytes: number, headers = {}): Promise<string> {
  const { status, body } = await send(api.url, 'POST', '/api/uploads', { name: 'rows.csv', bytes }, headers);
  expect(status, JSON.stringify(body)).toBe(201);
  expect(uploadSchema.parse(body)).toMatchObject({ offset: 0, bytes, jobId: null });
  return body.uploadId as string;
}

async function sendPart(
  api: RunningApi,
  uploadId: string,
  offset: number,
  bytes: Buffer | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${api.url}/api/uploads/${uploadId}/parts?offset=${offset}`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', ...headers },
    body: new Uint8Array(Buffer.from(bytes)),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

const makeJob = (api: RunningApi, upload: object, headers = {}): Promise<Answer> =>
  send(api.url, 'POST', '/api/jobs', { pipeline: 'doubling', again: true, hold: true, upload }, headers);

async function partsOf(prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test('parts in order make the file, which becomes one job however often it is requested', async () => {
  const api = await start();
  const text = csvOf(50);
  const uploadId = await begin(api, text.length);
  for (let at = 0; at < text.length; at += 100) {
    const part = text.slice(at, at + 100);
    const digest = createHash('sha256').update(part).digest('base64');
    const { status, body, headers } = await sendPart(api, uploadId, at, part, {
      'content-digest': `md5=:AAAA:, sha-256=:${digest}:`,
    });
    expect([status, body.offset]).toEqual([200, at + part.length]);
    expect(headers.get('upload-offset')).toBe(String(at + part.length));
  }
  const made = await makeJob(api, { uploadId, sha256: sha256(text) });
  expect([made.status, made.body.created]).toEqual([202, true]);
  await api.context.background.whenIdle();
  const { body: job } = await send(api.url, 'GET', `/api/jobs/${made.body.jobId}`);
  expect(job).toMatchObject({
    itemCount: 50,
    name: 'rows.csv',
    source: { sha256: sha256(text), kind: 'upload' },
  });
  expect(await partsOf(`uploads/${uploadId}/`)).toEqual([]);
  const again = await makeJob(api, { uploadId });
  expect([again.status, again.body]).toEqual([202, { jobId: made.body.jobId, created: false }]);
  expect((await sendPart(api, uploadId, text.length, 'more')).body.code).toBe('UPLOAD_OFFSET_WRONG');
});

test('a part at the wrong offset is refused with the right one, and leaves nothing', async () => {
  const api = await start();
  const uploadId = await begin(api, 20);
  expect((await sendPart(api, uploadId, 0, 'n,note\n1,a\n')).status).toBe(200);
  for (const offset of [0, 10, 12]) {
    const { status, body, headers } = await sendPart(api, uploadId, offset, '2,b\n');
    expect([status, body.code, headers.get('upload-offset')]).toEqual([409, 'UPLOAD_OFFSET_WRONG', '11']);
    expect(body.message).toContain('11');
  }
  const { body } = await send(api.url, 'GET', `/api/uploads/${uploadId}`);
  expect(body.offset).toBe(11);
  expect((await sendPart(api, uploadId, 11, '2,b\n2,b\n2,b\n')).body.code).toBe('FILE_TOO_LARGE');
  const damaged = { 'content-digest': `sha-256=:${createHash('sha256').update('other').digest('base64')}:` };
  expect((await sendPart(api, uploadId, 11, '2,b\n', damaged)).body).toMatchObject({
    code: 'FILE_INCOMPLETE',
    hint: expect.stringContaining('the parts before it are'),
  });
  expect((await sendPart(api, uploadId, 11, '')).status).toBe(400);
  expect((await makeJob(api, { uploadId })).body).toMatchObject({
    code: 'FILE_INCOMPLETE',
    hint: expect.stringContaining('Send the rest'),
  });
  expect(await partsOf(`uploads/${uploadId}/`)).toHaveLength(1);
  expect((await sendPart(api, uploadId, 11, '2,b\n3,c\n\n')).status).toBe(200);
  expect((await makeJob(api, { uploadId, sha256: sha256('something else') })).body.code).toBe(
    'FILE_INCOMPLETE',
  );
  expect((await makeJob(api, { uploadId })).status).toBe(202);
});

test('one of many concurrent identical parts wins, and the others leave nothing', async () => {
  const api = await start({ uploadsAtOnce: 100 });
  const uploadId = await begin(api, 100);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => sendPart(api, uploadId, 0, 'x'.repeat(50))),
  );
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
  expect(await partsOf(`uploads/${uploadId}/`)).toHaveLength(1);
});

test('the upload of another owner is like a missing one, also for creating a job', async () => {
  const api = await start({ authentication: 'password' });
  const [ada, ben] = [await sessionHeaders(database, 'ada'), await sessionHeaders(database, 'ben')];
  const uploadId = await begin(api, 11, ada);
  expect((await sendPart(api, uploadId, 0, 'n,note\n1,a\n', ada)).status).toBe(200);
  const plain = ({ status, body }: Answer, id: string) => {
    const { requestId: _, ...rest } = body as Record<string, unknown>;
    return JSON.parse(JSON.stringify({ status, ...rest }).replaceAll(id, 'ID')) as unknown;
  };
  const missing = newId();
  for (const ask of [
    (id: string) => send(api.url, 'GET', `/api/uploads/${id}`, undefined, ben),
    (id: string) => sendPart(api, id, 11, 'x', ben),
    (id: string) => makeJob(api, { uploadId: id }, ben),
    (id: string) => send(api.url, 'DELETE', `/api/uploads/${id}`, undefined, ben),
  ]) {
    const [foreign, gone] = [await ask(uploadId), await ask(missing)];
    expect(plain(foreign, uploadId)).toEqual(plain(gone, missing));
    expect([foreign.status, foreign.body.code]).toEqual([404, 'UPLOAD_NOT_FOUND']);
  }
  expect((await makeJob(api, { uploadId }, ada)).status).toBe(202);
});

test('the quota of an owner limits the announced bytes', async () => {
  const api = await start({
    ownerMaxUploads: 2,
    uploadMaxBytes: 5_000_000,
    ownerMaxStoredBytes: 1_000_000_000,
  });
  await database.query('delete from uploads');
  const announce = async (bytes: number): Promise<string> => {
    const { status, body } = await send(api.url, 'POST', '/api/uploads', { name: 'rows.csv', bytes });
    return `${status} ${body.code ?? 'ok'}`;
  };
  expect(await announce(5_000_001)).toBe('413 FILE_TOO_LARGE');
  expect(await announce(5_000_000)).toBe('201 ok');
  expect(await announce(1)).toBe('201 ok');
  expect(await announce(1)).toBe('429 QUOTA_EXCEEDED');
  const small = await start({ ownerMaxStoredBytes: 1_000_000 });
  const [status] = [await send(small.url, 'POST', '/api/uploads', { name: 'rows.csv', bytes: 1_000_001 })];
  expect(status!.body.code).toBe('QUOTA_EXCEEDED');
});

test('an upload that is deleted, expired or interrupted by a crash leaves no part', async () => {
  const api = await start();
  await database.query('delete from uploads');
  const [gone, forgotten, kept] = [await begin(api, 100), await begin(api, 100), await begin(api, 100)];
  for (const uploadId of [gone, forgotten, kept]) await sendPart(api, uploadId, 0, 'n,note\n');
  expect((await send(api.url, 'DELETE', `/api/uploads/${gone}`)).status).toBe(204);
  expect(await partsOf(`uploads/${gone}/`)).toEqual([]);
  await database.query(`update uploads set created_at = now() - interval '25 hours' where upload_id = $1`, [
    forgotten,
  ]);
  // It counts as missing from then on, even before it is pruned.
  expect((await sendPart(api, forgotten, 7, '1,a\n')).body.code).toBe('UPLOAD_NOT_FOUND');
  const context = database.context({ blobStore });
  expect(await pruneUploads(context)).toBe(1);
  expect(await partsOf(`uploads/${forgotten}/`)).toEqual([]);
  expect(await database.query('select 1 from upload_parts where upload_id = $1', [forgotten])).toEqual([]);
  expect(await partsOf(`uploads/${kept}/`)).toHaveLength(1);
  // A part whose process died before recording it, and whose upload no longer exists.
  const orphan = `uploads/${newId()}/${newId()}`;
  await store.put(
    orphan,
    (async function* () {
      yield Buffer.from('x');
    })(),
  );
  const old = new Date(Date.now() - 40 * 86_400_000);
  for (const key of [orphan, ...(await partsOf(`uploads/${kept}/`))])
    await utimes(join(blobStore, key), old, old);
  await collectBlobs(context);
  expect(await store.head(orphan)).toBeNull();
  expect(await partsOf(`uploads/${kept}/`)).toHaveLength(1);
});

test('the client resumes where a cut connection stopped, with the same bytes', async () => {
  const api = await start();
  const proxy = await startCuttableProxy(api.url);
  const text = csvOf(300_000);
  const file = new File([text], 'large.csv');
  const client = createClient({ baseUrl: proxy.url, maxRetries: 0 });
  const resumable = { uploadId: null as string | null };
  const job = { pipeline: 'doubling', hold: true, again: true };
  proxy.cutAfter(Math.floor(text.length / 2));
  const sent: number[] = [];
  const onProgress = (progress: { sent: number }): void => void sent.push(progress.sent);
  await expect(client.upload(file, job, { resumable, onProgress })).rejects.toMatchObject({
    code: 'API_UNREACHABLE',
  });
  const there = sent.at(-1)!;
  expect(there).toBeGreaterThan(0);
  expect(there).toBeLessThan(text.length);
  // The interrupted part leaves nothing.
  const whole = Math.ceil(there / 1_048_576);
  await expect.poll(async () => (await partsOf(`uploads/${resumable.uploadId}/`)).length).toBe(whole);
  proxy.heal();
  sent.length = 0;
  const { jobId } = await client.upload(file, job, { resumable, onProgress });
  // It does not start from zero.
  expect(sent[0]).toBeGreaterThanOrEqual(there);
  expect(sent.at(-1)).toBe(text.length);
  await api.context.background.whenIdle();
  const { body } = await send(api.url, 'GET', `/api/jobs/${jobId}`);
  expect(body).toMatchObject({ name: 'large.csv', itemCount: 300_000, source: { sha256: sha256(text) } });
});

test('a whole upload is checked line by line before it is a job, by its owner only', async () => {
  const api = await start({ authentication: 'password' });
  const text = `${csvOf(5000)}none,x\nnone,y\n1,2,3\n${csvOf(5000).replace('n,note\n', '')}`;
  const ada = await sessionHeaders(database, 'ada');
  const uploadId = await begin(api, Buffer.byteLength(text), ada);
  const check = (headers: Record<string, string>, body: object = { pipeline: 'doubling' }) =>
    send(api.url, 'POST', `/api/uploads/${uploadId}/check`, body, headers);
  expect(await check(ada)).toMatchObject({ body: { code: 'FILE_INCOMPLETE' } });
  await sendPart(api, uploadId, 0, text, ada);
  expect(await check(await sessionHeaders(database, 'ben'))).toMatchObject({
    status: 404,
    body: { code: 'UPLOAD_NOT_FOUND' },
  });
  const { status, body } = await check(ada);
  expect(status).toBe(200);
  const reports = readReports(body as string);
  expect(reports.length).toBeGreaterThan(3);
  expect(reports.map(({ isEnd }) => isEnd).indexOf(true)).toBe(reports.length - 1);
  const { checked } = reports.at(-1)!;
  expect(checked).toMatchObject({ rows: 10_003, refused: 2, rejected: 1, wholeFile: true, stoppedBy: null });
  expect(checked.kinds).toEqual([
    { field: 'n', kind: expect.stringContaining('expected a number'), rows: 2 },
    { field: null, kind: 'cannot be read', rows: 1 },
  ]);
  expect(reports.flatMap(({ problemRows }) => problemRows).map(({ line, raw }) => [line, raw])).toEqual([
    [5002, null],
    [5003, null],
    [5004, '1,2,3'],
  ]);
  // A mapping that the file does not fit is the last line, because the answer has begun.
  const wrong = (await check(ada, { pipeline: 'doubling', mapping: { n: 'missing' } })).body as string;
  expect(JSON.parse(wrong)).toMatchObject({ error: { code: 'COLUMNS_MISSING' } });
  const made = await database.query('select job_id from uploads where upload_id = $1', [uploadId]);
  expect(made).toEqual([{ job_id: null }]);
});

test('a check of a client that disconnects stops reading', async () => {
  const api = await start({ uploadsAtOnce: 1 });
  const text = csvOf(300_000);
  const uploadId = await begin(api, Buffer.byteLength(text));
  await sendPart(api, uploadId, 0, text);
  const stop = new AbortController();
  const url = `${api.url}/api/uploads/${uploadId}/check`;
  const body = JSON.stringify({ pipeline: 'doubling' });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', body, headers, signal: stop.signal });
  await response.body!.getReader().read();
  // The only slot is taken until the check has stopped.
  expect(
    (await send(api.url, 'POST', `/api/uploads/${uploadId}/check`, { pipeline: 'doubling' })).status,
  ).toBe(429);
  stop.abort();
  const again = async () => {
    const next = new AbortController();
    const { status, body } = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ pipeline: 'doubling' }),
      headers,
      signal: next.signal,
    });
    await body?.cancel();
    next.abort();
    return status;
  };
  await expect.poll(again, { timeout: 30_000 }).toBe(200);
});

function readReports(text: string): z.infer<typeof checkReport>[] {
  return text
    .trim()
    .split('\n')
    .map((line) => checkReport.parse(JSON.parse(line)));
}
