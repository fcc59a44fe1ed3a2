// The image of a row: sent with its own type to callers that may see the job. No file, mapping or edit can expose any
// other file of the store.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { MANIFEST_LINE } from '../../src/core/items/image-rows.ts';
import { setOfFile } from '../../src/engine/items/file-set.ts';
import { imageCopyKey } from '../../src/platform/blob-store/image-copies.ts';
import { openBlobStore } from '../../src/platform/blob-store/open-blob-store.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { addUser, sessionHeaders } from '../support/account-factory.ts';
import { send, uploadForm } from '../support/api-pipelines.ts';
import { gif, heif, jpeg, png } from '../support/image-writer.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { writeZip, type ZipPart } from '../support/zip-writer.ts';

const database = useTestDatabase();
const blobStore = mkdtempSync(join(tmpdir(), 'rowmill-images-'));
afterAll(() => rmSync(blobStore, { recursive: true, force: true }));
const pipeline = definePipeline({ name: 'pictures', phases: [{ name: 'look', run: () => ({}) }] });

const start = (settings: Partial<Settings> = {}): Promise<RunningApi> =>
  startTestApi(database.url, { pipelines: [pipeline], settings: { blobStore, ...settings } });

beforeAll(async () => {
  await addUser(database, 'ada');
  await addUser(database, 'ben');
});

async function upload(
  { url, context }: RunningApi,
  parts: ZipPart[] | string,
  { job = {}, headers = {} }: { job?: object; headers?: Record<string, string> } = {},
): Promise<string> {
  const isText = typeof parts === 'string';
  const form = uploadForm({ pipeline: 'pictures', hold: true, again: true, ...job }, '');
  form.set(
    'file',
    new Blob([isText ? parts : new Uint8Array(writeZip(parts))]),
    isText ? 'rows.csv' : 'set.zip',
  );
  const { status, body } = await send(url, 'POST', '/api/jobs', form, headers);
  expect(status, JSON.stringify(body)).toBe(202);
  await context.background.whenIdle();
  return body.jobId as string;
}

const imageOf = (api: RunningApi, jobId: string, seq: number, headers: Record<string, string> = {}) =>
  fetch(`${api.url}/api/jobs/${jobId}/items/${seq}/image`, { headers });

async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${((await response.json()) as { code: string }).code}`;
}

const keyOf = (bytes: Buffer): string => `images/${createHash('sha256').update(bytes).digest('hex')}`;
const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

async function* once(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

test('each image has its own type, is displayed inline, and is cached only by the browser', async () => {
  const api = await start();
  const images = [png(30, 20), jpeg(40, 30), gif(5, 5), heif('heic', 64, 64)];
  const names = ['a.png', 'b.jpg', 'c.png', 'd.heic'];
  const jobId = await upload(
    api,
    images.map((data, at) => ({ name: names[at]!, data })),
  );
  const types = ['image/png', 'image/jpeg', 'image/gif', 'image/heic'];
  for (const [seq, image] of images.entries()) {
    const response = await imageOf(api, jobId, seq);
    expect(response.status).toBe(200);
    expect(await bytesOf(response)).toEqual(image);
    const { headers } = response;
    expect(headers.get('content-type')).toBe(types[seq]);
    expect(headers.get('content-length')).toBe(String(image.length));
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toBe('sandbox');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('content-disposition')).toContain(`inline; filename="${names[seq]}"`);
    expect(headers.get('cache-control')).toMatch(/^private/);
    expect(headers.get('vary')).toContain('cookie');
    const etag = headers.get('etag')!;
    const again = await imageOf(api, jobId, seq, { 'if-none-match': `"other", W/${etag}` });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    expect((await imageOf(api, jobId, seq, { 'if-none-match': '"other"' })).status).toBe(200);
  }
  expect(await codeOf(await imageOf(api, jobId, 99))).toBe('404 ITEM_NOT_FOUND');
});

test('only callers who may see the job see its images, even with a matching ETag', async () => {
  const api = await start({ authentication: 'password' });
  const [ada, ben] = [await sessionHeaders(database, 'ada'), await sessionHeaders(database, 'ben')];
  const jobId = await upload(api, [{ name: 'a.png', data: png(30, 20) }], { headers: ada });
  const mine = await imageOf(api, jobId, 0, ada);
  expect(mine.status).toBe(200);
  const tag = { 'if-none-match': mine.headers.get('etag')! };
  expect(await codeOf(await imageOf(api, jobId, 0, { ...ben, ...tag }))).toBe('404 JOB_NOT_FOUND');
  expect(await codeOf(await imageOf(api, jobId, 0, tag))).toBe('401 UNAUTHENTICATED');
  await mine.body?.cancel();
});

test('columns, mappings, edits and emitted rows cannot expose another file', async () => {
  const api = await start();
  const [secret, own] = [png(77, 77), png(11, 11)];
  await upload(api, [{ name: 'secret.png', data: secret }]);
  const key = keyOf(secret);
  // A table with a column of that name.
  const table = await upload(api, `blob,file\n${key},x.png\n`);
  expect(await codeOf(await imageOf(api, table, 0))).toBe('404 FILE_NOT_FOUND');
  // A file name passed off as the key.
  const mapped = await upload(api, [{ name: key, data: own }], { job: { mapping: { blob: 'file' } } });
  const [item] = await database.query<{ input: { blob: string } }>(
    'select input from items where job_id = $1',
    [mapped],
  );
  expect(item!.input.blob).toBe(key);
  expect(await bytesOf(await imageOf(api, mapped, 0))).toEqual(own);
  // An edited input.
  await database.query(
    `insert into item_edits (job_id, seq, generation, input, input_bytes)
     select job_id, seq, 1, input || jsonb_build_object('blob', $2::text, 'blob_2', $2::text), 10
     from items where job_id = $1`,
    [mapped, key],
  );
  expect(await bytesOf(await imageOf(api, mapped, 0))).toEqual(own);
  // A row that a handler emitted.
  await database.query(
    `insert into items (job_id, seq, input, input_bytes, parent_seq)
     select job_id, 1, jsonb_build_object('blob', $2::text, 'blob_2', $2::text), 10, 0 from items where job_id = $1`,
    [mapped, key],
  );
  expect(await codeOf(await imageOf(api, mapped, 1))).toBe('404 FILE_NOT_FOUND');
});

test('a hand-written manifest shows no image of another job', async () => {
  const api = await start();
  const secret = png(78, 78);
  await upload(api, [{ name: 'secret.png', data: secret }]);
  const line = { file: 'x.png', type: 'png', bytes: 1, width: 1, height: 1, blob: keyOf(secret) };
  const jobId = await upload(api, `${MANIFEST_LINE}\n${JSON.stringify(line)}\n`);
  expect(await codeOf(await imageOf(api, jobId, 0))).toBe('404 FILE_NOT_FOUND');
});

test('a missing file, one that is not an image, or one that is too large is not sent', async () => {
  const api = await start();
  const image = png(21, 22);
  const jobId = await upload(api, [{ name: 'a.png', data: image }]);
  const store = openBlobStore(blobStore);
  const small = await start({ imageMaxBytes: image.length - 1 });
  expect(await codeOf(await imageOf(small, jobId, 0))).toBe('404 FILE_NOT_FOUND');
  const [source] = await database.query<{ key: string }>(
    `select source ->> 'blobKey' as key from jobs where job_id = $1`,
    [jobId],
  );
  const copyKey = imageCopyKey(keyOf(image), setOfFile(source!.key)!);
  await store.put(copyKey, once('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'));
  expect(await codeOf(await imageOf(api, jobId, 0))).toBe('404 FILE_NOT_FOUND');
  await store.delete(copyKey);
  expect(await codeOf(await imageOf(api, jobId, 0))).toBe('404 FILE_NOT_FOUND');
  await store.close();
});
