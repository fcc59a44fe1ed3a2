import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { inChunks } from '../../../test/support/blob-store-contract.ts';
import { killAll, startChild } from '../../../test/support/child-process.ts';
import { type S3Stub, startS3Stub } from '../../../test/support/s3-stub.ts';
import type { BlobStore } from './blob-store.ts';
import type { S3Options } from './s3-session.ts';
import { S3Store } from './s3-store.ts';

const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));
const SECRET = 'a-secret-that-nobody-may-see';
let stub: S3Stub;
const opened: BlobStore[] = [];
beforeAll(async () => {
  stub = await startS3Stub();
});
beforeEach(() => {
  stub.reset();
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'rowmill');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await killAll();
  await Promise.all(opened.splice(0).map((store) => store.close()));
});
afterAll(() => stub.stop());

function open(options: S3Options = {}): BlobStore {
  const store = new S3Store(
    { bucket: stub.bucket, prefix: '', endpoint: stub.endpoint },
    { retryBaseMs: 1, ...options },
  );
  opened.push(store);
  return store;
}
const put = (store: BlobStore, signal?: AbortSignal) =>
  store.put('a', inChunks(Buffer.from('bytes')), signal ? { signal } : {});

describe('a request to S3', () => {
  it.each([
    [503, 'SlowDown'],
    [500, 'InternalError'],
    [429, 'TooManyRequests'],
    [400, 'RequestTimeout'],
    [403, 'RequestTimeTooSkewed'],
  ])('is retried after %d %s, and fails after four attempts', async (status, code) => {
    stub.fail('PutObject', { kind: 'answer', status, code }, 3);
    await put(open());
    expect(stub.requests).toHaveLength(4);
    stub.fail('PutObject', { kind: 'answer', status, code }, 4);
    await expect(put(open())).rejects.toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
      message: expect.stringMatching(
        new RegExp(`^expected s3://bucket/ to answer PutObject of a, got ${status} ${code}`),
      ),
    });
    expect(stub.requests).toHaveLength(8);
    expect(stub.objects.size).toBe(1);
  });

  it.each([
    [403, 'AccessDenied'],
    [400, 'InvalidRequest'],
    [501, 'NotImplemented'],
  ])('is not retried after %d %s', async (status, code) => {
    stub.fail('PutObject', { kind: 'answer', status, code }, 4);
    await expect(put(open())).rejects.toMatchObject({ code: 'BLOB_STORE_UNAVAILABLE' });
    expect(stub.requests).toHaveLength(1);
  });

  it('is retried when its connection is lost', async () => {
    stub.fail('PutObject', { kind: 'lose-answer' }, 3);
    await put(open());
    expect(stub.requests).toHaveLength(4);
  });

  it('fails at its deadline and closes its connection', async () => {
    stub.fail('PutObject', { kind: 'hang' }, 2);
    await expect(put(open({ deadlineMs: 200, attempts: 2 }))).rejects.toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
      message: expect.stringContaining(
        'TimeoutError: no answer within the deadline of 200 ms after 2 attempts',
      ),
    });
    await expect.poll(() => stub.connections()).toBe(0);
  });

  it('fails immediately when its write is aborted', async () => {
    stub.fail('PutObject', { kind: 'hang' });
    const abort = new AbortController();
    const reason = new Error('the client went away');
    const writing = put(open(), abort.signal);
    await expect.poll(() => stub.requests).toHaveLength(1);
    abort.abort(reason);
    await expect(writing).rejects.toBe(reason);
    await expect.poll(() => stub.connections()).toBe(0);
  });

  it('succeeds again once the store is back', async () => {
    const store = open({ attempts: 1 });
    stub.fail('PutObject', { kind: 'answer', status: 503, code: 'ServiceUnavailable' });
    await expect(put(store)).rejects.toMatchObject({ code: 'BLOB_STORE_UNAVAILABLE' });
    await put(store);
    expect(await store.head('a')).toMatchObject({ bytes: 5 });
  });
});

describe('an S3 store that cannot be used', () => {
  it('reports wrong credentials without showing them', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIAWRONGWRONGWRONG1');
    const error = await put(open()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
      message: expect.stringContaining('403 InvalidAccessKeyId'),
    });
    const shown = inspect(error, { depth: 10, showHidden: true });
    for (const secret of [SECRET, 'AKIAWRONG', 'Signature', 'uthorization'])
      expect(shown).not.toContain(secret);
    expect(stub.requests).toHaveLength(1);
  });

  it('reports missing credentials', async () => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) vi.stubEnv(name, '');
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/does/not/exist');
    vi.stubEnv('AWS_CONFIG_FILE', '/does/not/exist');
    await expect(put(open())).rejects.toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
      hint: expect.stringContaining('AWS_ACCESS_KEY_ID'),
    });
    expect(stub.requests).toHaveLength(0);
  });

  it('reports a missing region', async () => {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
    vi.stubEnv('AWS_CONFIG_FILE', '/does/not/exist');
    const store = new S3Store({ bucket: 'bucket', prefix: '' });
    await expect(put(store)).rejects.toMatchObject({
      code: 'BLOB_STORE_INVALID',
      hint: expect.stringContaining('?region='),
    });
    await store.close();
  });

  it('reports a refused connection', async () => {
    const store = new S3Store(
      { bucket: 'bucket', prefix: '', endpoint: 'http://127.0.0.1:9' },
      { retryBaseMs: 1, attempts: 2 },
    );
    await expect(store.head('a')).rejects.toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await store.close();
  });

  it('names the package to install', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rowmill-test-'));
    try {
      for (const part of ['src/core', 'src/platform', 'test/support', 'package.json']) {
        await cp(join(REPOSITORY, part), join(folder, part), { recursive: true });
      }
      const child = startChild({
        script: join(folder, 'test/support/blob-store-child.ts'),
        args: ['head', 's3://bucket?region=eu-west-1'],
      });
      expect(await child.waitFor('failed')).toMatchObject({
        code: 'BLOB_STORE_INVALID',
        hint: 'npm install @aws-sdk/client-s3',
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is not retried after it is closed', async () => {
    const store = open();
    stub.fail('PutObject', { kind: 'hang' }, 9);
    const writing = put(store);
    await expect.poll(() => stub.requests).toHaveLength(1);
    await store.close();
    await expect(writing).rejects.toThrow('the blob store s3://bucket/ is closed');
    expect(stub.requests).toHaveLength(1);
  });

  it('is closed', async () => {
    const store = open();
    await put(store);
    await store.close();
    await expect(store.head('a')).rejects.toThrow('the blob store s3://bucket/ is closed');
  });
});
