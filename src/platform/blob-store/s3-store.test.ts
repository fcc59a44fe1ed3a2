import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rmdir, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { inChunks, readBlob, testBlobStore } from '../../../test/support/blob-store-contract.ts';
import { type S3Stub, type StubOptions, startS3Stub } from '../../../test/support/s3-stub.ts';
import type { BlobStore } from './blob-store.ts';
import { S3Store } from './s3-store.ts';

const MIB = 1024 * 1024;
let stub: S3Stub;
beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'rowmill');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'rowmill-secret');
  stub = await startS3Stub({ pageSize: 3 });
});
beforeEach(() => stub.reset());
afterAll(() => stub.stop());

const openOn = ({ bucket, endpoint }: S3Stub): BlobStore =>
  new S3Store({ bucket, prefix: 'pre/', endpoint }, { retryBaseMs: 1 });

testBlobStore('a stub of S3', async () => openOn(stub));

describe('bytes that are corrupted on their way to S3', () => {
  it.each([1000, 9 * MIB])('are resent when %d of them arrive corrupted', async (length) => {
    const store = openOn(stub);
    stub.fail('PutObject', { kind: 'flip' });
    stub.fail('UploadPart', { kind: 'flip' });
    const bytes = randomBytes(length);
    await store.put('a', inChunks(bytes));
    expect((await readBlob(store, 'a')).equals(bytes)).toBe(true);
    expect(stub.requests.filter(({ operation }) => /PutObject|UploadPart/.test(operation))).toHaveLength(
      length > 8 * MIB ? 3 : 2,
    );
    await store.close();
  });

  it.each([1000, 9 * MIB])('are not published when %d of them are stored corrupted', async (length) => {
    const store = openOn(stub);
    stub.fail('PutObject', { kind: 'rot' });
    stub.fail('UploadPart', { kind: 'rot' });
    await expect(store.put('a', inChunks(randomBytes(length)))).rejects.toMatchObject({
      code: 'BLOB_CORRUPT',
    });
    expect([...stub.objects.keys()]).toEqual([]);
    await store.close();
  });

  it('are not published under their hash when the copy is wrong', async () => {
    const store = openOn(stub);
    stub.fail('UploadPart', { kind: 'rot' });
    await expect(store.putByHash('files/', inChunks(randomBytes(9 * MIB)))).rejects.toMatchObject({
      code: 'BLOB_CORRUPT',
    });
    expect([...stub.objects.keys()]).toEqual([]);
    await store.close();
  });

  it('are detected when they are read back', async () => {
    const writer = openOn(stub);
    const blob = await writer.put('a', inChunks(randomBytes(1000)));
    const reader = openOn(stub);
    stub.fail('GetObject', { kind: 'flip' });
    await expect(reader.verify(blob)).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
    await reader.verify(blob);
    await Promise.all([writer.close(), reader.close()]);
  });

  it('are detected when the object was replaced, although the writer knows its ETag', async () => {
    const store = openOn(stub);
    const blob = await store.put('a', inChunks(randomBytes(1000)));
    stub.requests.length = 0;
    await store.verify(blob);
    expect(stub.requests.map(({ operation }) => operation)).toEqual(['HeadObject']);
    const other = openOn(stub);
    await other.put('a', inChunks(randomBytes(1000)));
    await expect(store.verify(blob)).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
    await Promise.all([store.close(), other.close()]);
  });
});

describe('a store whose ETags are not MD5', () => {
  async function writeTo(options: StubOptions, length: number): Promise<string[]> {
    const other = await startS3Stub({ ...options, etagsAreMd5: false });
    const store = openOn(other);
    const bytes = randomBytes(length);
    const blob = await store.put('a', inChunks(bytes));
    const operations = other.requests.map(({ operation }) => operation);
    await store.verify(blob);
    await store.putByHash('files/', inChunks(bytes));
    expect((await readBlob(store, `files/${blob.sha256}`)).equals(bytes)).toBe(true);
    await store.close();
    await other.stop();
    return operations;
  }

  it.each([1000, 9 * MIB])('is trusted when it encrypts %d bytes with a key', async (length) => {
    expect(await writeTo({ encryption: 'aws:kms' }, length)).not.toContain('GetObject');
  });

  it.each([1000, 9 * MIB])('has its %d bytes read back otherwise', async (length) => {
    expect(await writeTo({}, length)).toContain('GetObject');
  });
});

describe('leftovers of writes to S3', () => {
  it('are removed page by page when they are old', async () => {
    const store = openOn(stub);
    await store.put('files/kept', inChunks(Buffer.from('kept')));
    const old = new Date(Date.now() - 7_200_000);
    const object = stub.objects.get('pre/files/kept')!;
    for (let i = 0; i < 7; i += 1) {
      stub.objects.set(`pre/.staging/old-${i}`, { ...object, modifiedAt: old });
      stub.uploads.set(`old-${i}`, { key: 'pre/files/a', startedAt: old, metadata: {}, parts: new Map() });
    }
    stub.objects.set('pre/.staging/new', { ...object, modifiedAt: new Date() });
    const upload = { startedAt: old, metadata: {}, parts: new Map() };
    stub.uploads.set('new', { ...upload, key: 'pre/.staging/new', startedAt: new Date() });
    stub.uploads.set('others', { ...upload, key: 'other/a' });
    stub.uploads.set('foreign', { ...upload, key: 'pre/a file of someone.txt' });

    expect(await store.collectLeftovers(3_600_000)).toBe(14);
    expect([...stub.objects.keys()].sort()).toEqual(['pre/.staging/new', 'pre/files/kept']);
    expect([...stub.uploads.keys()].sort()).toEqual(['foreign', 'new', 'others']);
    await store.close();
  });

  it('may disappear before they are removed', async () => {
    const store = openOn(stub);
    stub.uploads.set('old', { key: 'pre/a', startedAt: new Date(0), metadata: {}, parts: new Map() });
    stub.fail('AbortUpload', { kind: 'answer', status: 404, code: 'NoSuchUpload' });
    expect(await store.collectLeftovers(1000)).toBe(0);
    await store.close();
  });

  it('include local copies of dead processes after a day', async () => {
    const store = openOn(stub);
    const [old, recent] = ['old', 'recent'].map((name) =>
      join(tmpdir(), `rowmill-blob-test-${process.pid}-${name}`),
    );
    for (const folder of [old!, recent!]) await mkdir(folder);
    const ago = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
    await utimes(old!, ago(25), ago(25));
    await utimes(recent!, ago(23), ago(23));
    expect(await store.collectLeftovers(1000)).toBe(1);
    expect(existsSync(old!)).toBe(false);
    expect(existsSync(recent!)).toBe(true);
    await rmdir(recent!);
    await store.close();
  });
});
