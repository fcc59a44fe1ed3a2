// Blobs that an upload leaves in the store: those its job needs, and none after it is refused or deleted.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { collectBlobs } from '../../src/engine/services/blob-collector.ts';
import { openStored } from '../../src/platform/blob-store/image-copies.ts';
import { newId } from '../../src/platform/random.ts';
import { dropFileSet, insertFileSet } from '../../src/store/commands/items/change-file-sets.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { type Answer, csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { png } from '../support/image-writer.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { writeZip } from '../support/zip-writer.ts';

const database = useTestDatabase();
const folders: string[] = [];
let blobStore: string;
beforeEach(() => {
  blobStore = mkdtempSync(join(tmpdir(), 'rowmill-leftovers-'));
  folders.push(blobStore);
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const pictures = definePipeline({ name: 'pictures', phases: [{ name: 'look', run: () => ({}) }] });
const start = (settings = {}): Promise<RunningApi> =>
  startTestApi(database.url, { pipelines: [doubling, pictures], settings: { blobStore, ...settings } });

/** The first folder of each blob, sorted. */
function blobsByKind(): string[] {
  return readdirSync(blobStore, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.parentPath.slice(blobStore.length + 1).split('/')[0]!)
    .sort();
}

async function uploadImages(
  { url, context }: RunningApi,
  images: readonly Buffer[],
  job: object,
): Promise<Answer> {
  const form = uploadForm({ pipeline: 'pictures', again: true, ...job }, '');
  const zip = writeZip(images.map((data, at) => ({ name: `${at}.png`, data })));
  form.set('file', new Blob([new Uint8Array(zip)]), 'set.zip');
  const answer = await send(url, 'POST', '/api/jobs', form);
  await context.background.whenIdle();
  return answer;
}

test('a refused upload leaves nothing, whatever the reason', async () => {
  const api = await start({ ownerMaxStoredBytes: 1_000_000 });
  const refused = async (job: object, text: string): Promise<string> => {
    const { body } = await send(
      api.url,
      'POST',
      '/api/jobs',
      uploadForm({ pipeline: 'doubling', ...job }, text),
    );
    expect(blobsByKind()).toEqual([]);
    return body.code;
  };
  expect(await refused({}, 'a,b\n1,2\n')).toBe('COLUMNS_MISSING');
  expect(await refused({}, '\0\u0001\u0002'.repeat(100))).toMatch(/^FILE_/);
  expect(await refused({ ownerId: newId() }, csvOf(80_000))).toBe('QUOTA_EXCEEDED');
  const sets = await database.query('select from file_sets where job_id is null');
  expect(sets).toEqual([]);
});

test('a repeated upload keeps the file of its job', async () => {
  const api = await start();
  const upload = () =>
    send(api.url, 'POST', '/api/jobs', uploadForm({ pipeline: 'doubling', hold: true, ownerId }, csvOf(3)));
  const ownerId = newId();
  const first = await upload();
  expect((await upload()).body).toEqual({ jobId: first.body.jobId, created: false });
  expect(blobsByKind()).toEqual(['files']);
  const input = await send(api.url, 'GET', `/api/jobs/${first.body.jobId}/files/input`);
  expect(input.body).toBe(csvOf(3));
});

test('images of a deleted job are removed, but kept for a job with the same ones', async () => {
  const api = await start();
  const { engine } = api.context;
  const [shared, single] = [png(31, 17), png(8, 9)];
  const first = await uploadImages(api, [shared, single], {});
  const second = await uploadImages(api, [shared], {});
  // Each job has a manifest and its own copies, but no archive.
  expect(blobsByKind()).toEqual(['files', 'files', 'image-copies', 'image-copies', 'image-copies']);
  const [row] = await database.query<{ input: { blob: string } }>(
    'select input from items where job_id = $1',
    [second.body.jobId],
  );
  const remove = async (jobId: string): Promise<void> => {
    await send(api.url, 'POST', `/api/jobs/${jobId}/slice?durationMs=60000`);
    expect((await send(api.url, 'DELETE', `/api/jobs/${jobId}`)).status).toBe(204);
    await api.context.background.whenIdle();
  };
  await remove(first.body.jobId);
  await collectBlobs({ ...engine, settings: { ...engine.settings, blobLeftoverMs: 0 } });
  expect(blobsByKind().filter((kind) => kind === 'image-copies')).toHaveLength(1);
  const opened = await openStored(engine.blobs, row!.input.blob);
  expect(Buffer.concat(await opened.toArray())).toEqual(shared);
  const shown = await fetch(`${api.url}/api/jobs/${second.body.jobId}/items/0/image`);
  expect(Buffer.from(await shown.arrayBuffer())).toEqual(shared);
  await remove(second.body.jobId);
  expect(blobsByKind()).toEqual([]);
});

test('images count for the quota of their owner', async () => {
  const ownerId = newId();
  // The manifest adds less than 300 bytes.
  const large = Buffer.concat([png(31, 17), Buffer.alloc(700_000)]);
  const api = await start({ ownerMaxStoredBytes: 1_000_000 });
  expect((await uploadImages(api, [large], { ownerId })).status).toBe(202);
  const before = blobsByKind();
  const second = await uploadImages(api, [large], { ownerId });
  expect([second.status, second.body.code]).toEqual([429, 'QUOTA_EXCEEDED']);
  expect(blobsByKind()).toEqual(before);
});

test('only one of a refusal, the collector and a job gets the stored file', async () => {
  const { engine } = (await start()).context;
  const old = { ...engine, settings: { ...engine.settings, blobLeftoverMs: 0 } };
  const create = (fileSetId: string) =>
    createJob(engine, { pipeline: 'doubling', phases: ['double'], hold: true, fileSetId });
  const stored = async (setId: string): Promise<string> => {
    await insertFileSet(engine.db, setId);
    const bytes = (async function* () {
      yield Buffer.from('n\n1\n');
    })();
    return (await engine.blobs.putByHash(`files/${setId}/`, bytes)).key;
  };
  const [claimed, abandoned] = [newId(), newId()];
  const [claimedKey, abandonedKey] = [await stored(claimed), await stored(abandoned)];
  await create(claimed);
  expect(await dropFileSet(engine.db, claimed)).toBe(false);
  await collectBlobs(engine);
  expect(await engine.blobs.head(abandonedKey), 'too young').not.toBeNull();
  await expect.poll(async () => (await collectBlobs(old)) && engine.blobs.head(abandonedKey)).toBeNull();
  expect(await engine.blobs.head(claimedKey)).not.toBeNull();
  await expect(create(abandoned)).rejects.toMatchObject({ code: 'FILE_INCOMPLETE' });
});
