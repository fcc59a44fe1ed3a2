// The guarantees of the blob store, and the S3 behaviour that its stub imitates, on a real server.
import { randomBytes, randomUUID } from 'node:crypto';
import { buffer as readAll } from 'node:stream/consumers';
import { S3 } from '@aws-sdk/client-s3';
import { describe, expect, inject, it } from 'vitest';
import type { BlobStore } from '../../src/platform/blob-store/blob-store.ts';
import { openBlobStore } from '../../src/platform/blob-store/open-blob-store.ts';
import { S3Store } from '../../src/platform/blob-store/s3-store.ts';
import { inChunks, testBlobStore } from '../support/blob-store-contract.ts';

const endpoint = inject('s3Endpoint');
const bucket = inject('s3Bucket');
const open = (prefix: string): BlobStore => openBlobStore(`s3://${bucket}/${prefix}?endpoint=${endpoint}`);

testBlobStore('radosgw', async () => open(randomUUID()));

describe('a store on radosgw', () => {
  const s3 = new S3({ endpoint, region: 'us-east-1', forcePathStyle: true });

  it('lists more keys than fit in one response', async () => {
    const store = open(randomUUID());
    const keys = Array.from({ length: 1100 }, (_, i) => `images/${String(i).padStart(5, '0')}`);
    for (let at = 0; at < keys.length; at += 50) {
      await Promise.all(keys.slice(at, at + 50).map((key) => store.put(key, inChunks(Buffer.from('x')))));
    }
    const listed: string[] = [];
    for await (const { key } of store.list('images/')) listed.push(key);
    expect(listed).toEqual(keys);
    await store.close();
  });

  it('removes staging objects and incomplete uploads, and nothing else', async () => {
    const prefix = randomUUID();
    const store = open(prefix);
    await store.put('files/kept', inChunks(Buffer.from('kept')));
    await s3.putObject({ Bucket: bucket, Key: `${prefix}/.staging/left`, Body: 'left' });
    await s3.createMultipartUpload({ Bucket: bucket, Key: `${prefix}/files/left` });
    await s3.createMultipartUpload({ Bucket: bucket, Key: `${prefix}/.staging/left` });
    const others = await s3.createMultipartUpload({ Bucket: bucket, Key: `not-${prefix}/files/a` });
    expect(await store.collectLeftovers(3_600_000)).toBe(0);
    expect(await store.collectLeftovers(-60_000)).toBe(3);
    expect(await store.collectLeftovers(-60_000)).toBe(0);
    const uploads = await s3.listMultipartUploads({ Bucket: bucket });
    expect(uploads.Uploads?.map(({ UploadId }) => UploadId)).toEqual([others.UploadId]);
    expect((await readAll(await store.get('files/kept'))).toString()).toBe('kept');
    await store.close();
  });

  it('verifies its own writes by their ETag and other objects by reading them', async () => {
    const prefix = randomUUID();
    const writer = open(prefix);
    const blobs = [
      await writer.put('small', inChunks(randomBytes(1000))),
      await writer.put('large', inChunks(randomBytes(9_000_000))),
      await writer.putByHash('files/', inChunks(randomBytes(17_000_000))),
    ];
    const reader = open(prefix);
    for (const blob of blobs) {
      await writer.verify(blob);
      await reader.verify(blob);
      await expect(reader.verify({ ...blob, sha256: '0'.repeat(64) })).rejects.toMatchObject({
        code: 'BLOB_CORRUPT',
      });
    }
    await Promise.all([writer.close(), reader.close()]);
  });

  it("reports the server's answer for a bucket that does not exist", async () => {
    const store = new S3Store({ bucket: 'no-such-bucket', prefix: '', endpoint });
    await expect(store.put('a', inChunks(Buffer.from('x')))).rejects.toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
      message: expect.stringContaining('404 NoSuchBucket'),
    });
    await expect(store.get('a')).rejects.toMatchObject({ code: 'BLOB_STORE_UNAVAILABLE' });
    await store.close();
  });
});
