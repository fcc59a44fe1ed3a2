import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { inChunks, readBlob } from '../../../test/support/blob-store-contract.ts';
import { isDeep } from '../../../test/support/depth.ts';
import { type Operation, type S3Stub, startS3Stub } from '../../../test/support/s3-stub.ts';
import type { BlobStore } from './blob-store.ts';
import { partBytes } from './s3-multipart.ts';
import type { S3Options } from './s3-session.ts';
import { S3Store } from './s3-store.ts';

const MIB = 1024 * 1024;
const LARGE = randomBytes(20 * MIB);
let stub: S3Stub;
let store: BlobStore;
beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'rowmill');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'rowmill-secret');
  stub = await startS3Stub();
});
beforeEach(() => {
  stub.reset();
  store = open({});
});
afterEach(() => store.close());
afterAll(() => stub.stop());

const open = (options: S3Options): BlobStore =>
  new S3Store({ bucket: stub.bucket, prefix: '', endpoint: stub.endpoint }, { retryBaseMs: 1, ...options });
const count = (operation: Operation): number =>
  stub.requests.filter((request) => request.operation === operation).length;
const unavailable = { code: 'BLOB_STORE_UNAVAILABLE' };

function expectNothingLeft(): void {
  expect([...stub.objects.keys()]).toEqual([]);
  expect(stub.uploads.size).toBe(0);
}

describe('the size of the parts of an upload', () => {
  it('starts with 8 MiB, grows, and lets 10,000 parts hold 4 TB', () => {
    let total = 0;
    for (let index = 0; index < 10_000; index += 1) {
      if (index > 0) expect(partBytes(index)).toBeGreaterThanOrEqual(partBytes(index - 1));
      total += partBytes(index);
    }
    expect(partBytes(0)).toBe(8 * MIB);
    expect(partBytes(9999)).toBe(1024 * MIB);
    expect(total).toBeGreaterThan(4e12);
  });
});

describe('an upload in parts', () => {
  it('resends a part that was lost or refused temporarily', async () => {
    stub.fail('CreateUpload', { kind: 'answer', status: 503, code: 'SlowDown' }, 2);
    stub.fail('UploadPart', { kind: 'answer', status: 500, code: 'InternalError' }, 2);
    stub.fail('UploadPart', { kind: 'lose-answer' });
    await store.put('a', inChunks(LARGE));
    expect((await readBlob(store, 'a')).equals(LARGE)).toBe(true);
    expect(count('UploadPart')).toBe(3 + 3);
    expect(stub.uploads.size).toBe(0);
  });

  it('resends a part that got no response', async () => {
    const impatient = open({ deadlineMs: 4000 });
    stub.fail('UploadPart', { kind: 'hang' }, 2);
    await impatient.put('a', inChunks(LARGE));
    expect((await readBlob(impatient, 'a')).equals(LARGE)).toBe(true);
    expect(stub.uploads.size).toBe(0);
    await impatient.close();
  });

  it('sends at most three parts, and eight copies, in parallel', async () => {
    await store.putByHash('files/', inChunks(Buffer.alloc(60 * MIB)));
    expect(count('UploadPart')).toBe(8);
    expect(stub.peaks.get('UploadPart')).toBeLessThanOrEqual(3);
    expect(stub.peaks.get('UploadPart')).toBeGreaterThan(1);
    expect(stub.peaks.get('UploadPartCopy')).toBeLessThanOrEqual(8);
  });

  it.each([
    { status: 503, code: 'SlowDown', attempts: 4 },
    { status: 403, code: 'AccessDenied', attempts: 1 },
    { status: 404, code: 'NoSuchUpload', attempts: 1 },
  ])('is aborted when a part is answered with $status $code', async ({ status, code, attempts }) => {
    stub.fail('UploadPart', { kind: 'answer', status, code }, 100);
    await expect(store.put('a', inChunks(LARGE))).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining(`${status} ${code}`),
    });
    expect(count('UploadPart')).toBeGreaterThanOrEqual(attempts);
    expect(count('UploadPart')).toBeLessThanOrEqual(3 * attempts);
    expect(count('AbortUpload')).toBe(1);
    expectNothingLeft();
  });

  it('stops reading its source when a part fails', async () => {
    stub.fail('UploadPart', { kind: 'answer', status: 403, code: 'AccessDenied' }, 100);
    async function* source() {
      yield* inChunks(LARGE);
      await new Promise(() => {});
    }
    await expect(store.put('a', source())).rejects.toMatchObject(unavailable);
    expectNothingLeft();
  });

  it('is aborted when the copy to its hash fails', async () => {
    stub.fail('UploadPartCopy', { kind: 'answer', status: 403, code: 'AccessDenied' }, 100);
    await expect(store.putByHash('files/', inChunks(LARGE))).rejects.toMatchObject(unavailable);
    expectNothingLeft();
  });

  it('leaves an upload that cannot be aborted to the collector', async () => {
    stub.fail('UploadPart', { kind: 'answer', status: 403, code: 'AccessDenied' }, 100);
    stub.fail('AbortUpload', { kind: 'answer', status: 503, code: 'SlowDown' }, 4);
    await expect(store.put('a', inChunks(LARGE))).rejects.toMatchObject({
      message: expect.stringContaining('403 AccessDenied'),
    });
    expect(stub.uploads.size).toBe(1);
    expect(await store.collectLeftovers(-1000)).toBe(1);
    expectNothingLeft();
  });
});

describe('the completion of an upload', () => {
  it.each(['put', 'putByHash'] as const)(
    'is detected when only its response was lost (%s)',
    async (method) => {
      stub.fail('CompleteUpload', { kind: 'lose-answer' });
      const blob = await store[method](method === 'put' ? 'files/a' : 'files/', inChunks(LARGE));
      expect((await readBlob(store, blob.key)).equals(LARGE)).toBe(true);
      expect(count('CompleteUpload')).toBe(method === 'put' ? 1 : 2);
      expect(count('HeadObject')).toBe(1);
      expect(count('AbortUpload')).toBe(0);
      expect([...stub.objects.keys()]).toEqual([blob.key]);
    },
  );

  it('is retried when it did not take effect', async () => {
    stub.fail('CompleteUpload', { kind: 'answer', status: 503, code: 'SlowDown' }, 2);
    await store.put('a', inChunks(LARGE));
    expect(count('CompleteUpload')).toBe(3);
    expect((await readBlob(store, 'a')).equals(LARGE)).toBe(true);
  });

  it.runIf(isDeep)('fails within its deadlines when it gets no response', async () => {
    const impatient = open({ deadlineMs: 3000 });
    stub.fail('CompleteUpload', { kind: 'hang' }, 100);
    await expect(impatient.put('a', inChunks(LARGE))).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('no answer within the deadline of 3000 ms'),
    });
    expect(count('CompleteUpload')).toBe(4);
    expectNothingLeft();
    await impatient.close();
  });

  it('does not mistake the same bytes of an earlier write for its own', async () => {
    await store.put('a', inChunks(LARGE));
    stub.fail('CompleteUpload', { kind: 'answer', status: 503, code: 'SlowDown' }, 100);
    await expect(store.put('a', inChunks(LARGE))).rejects.toMatchObject(unavailable);
    expect(stub.uploads.size).toBe(0);
  });

  it('fails when the store lost the upload', async () => {
    stub.fail('CompleteUpload', { kind: 'answer', status: 404, code: 'NoSuchUpload' });
    await expect(store.put('a', inChunks(LARGE))).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('404 NoSuchUpload'),
    });
    expectNothingLeft();
  });
});
