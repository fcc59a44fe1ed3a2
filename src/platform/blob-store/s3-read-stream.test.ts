import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { inChunks, readBlob } from '../../../test/support/blob-store-contract.ts';
import { sample } from '../../../test/support/depth.ts';
import { type S3Stub, startS3Stub } from '../../../test/support/s3-stub.ts';
import type { BlobStore } from './blob-store.ts';
import { S3Store } from './s3-store.ts';

const DEADLINE_MS = 2000;
const BYTES = randomBytes(2_000_000);
let stub: S3Stub;
let store: BlobStore;
beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'rowmill');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'rowmill-secret');
  stub = await startS3Stub();
});
beforeEach(async () => {
  stub.reset();
  store = open();
  await store.put('a', inChunks(BYTES));
  stub.requests.length = 0;
});
afterEach(() => store.close());

function open(options: { deadlineMs?: number } = {}): BlobStore {
  return new S3Store(
    { bucket: stub.bucket, prefix: '', endpoint: stub.endpoint },
    { retryBaseMs: 1, ...options },
  );
}

/** For stalled connections. Other tests keep a deadline that suits a busy machine. */
async function openImpatient(): Promise<void> {
  await store.close();
  store = open({ deadlineMs: DEADLINE_MS });
}

afterAll(() => stub.stop());

describe('a download from S3', () => {
  it('resumes where its connection was cut', async () => {
    stub.fail('GetObject', { kind: 'cut', afterBytes: 500_000 });
    stub.fail('GetObject', { kind: 'answer', status: 503, code: 'SlowDown' });
    stub.fail('GetObject', { kind: 'cut', afterBytes: 0 });
    stub.fail('GetObject', { kind: 'cut', afterBytes: 70_000 });
    expect((await readBlob(store, 'a')).equals(BYTES)).toBe(true);
    expect(stub.requests).toHaveLength(5);
  });

  it('resumes where its connection stalled, also within a range', async () => {
    await openImpatient();
    stub.fail('GetObject', { kind: 'stall', afterBytes: 100_000 });
    const chunks = await (await store.get('a', { start: 1000, end: 1_500_000 })).toArray();
    expect(Buffer.concat(chunks).equals(BYTES.subarray(1000, 1_500_000))).toBe(true);
    expect(stub.requests).toHaveLength(2);
  });

  const faults = [
    { name: 'is cut', fault: { kind: 'cut', afterBytes: 1000 } as const },
    { name: 'trickles', fault: { kind: 'trickle', bytesPerSecond: 1000 } as const },
    { name: 'stalls', fault: { kind: 'stall', afterBytes: 1000 } as const },
  ];
  it.each(sample(faults, 2))('fails when every connection $name', async ({ fault }) => {
    if (fault.kind !== 'cut') await openImpatient();
    stub.fail('GetObject', fault, 100);
    await expect(readBlob(store, 'a')).rejects.toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
      message: expect.stringMatching(
        /expected s3:\/\/bucket\/ to deliver a up to byte 2000000, got .* after 4 attempts/,
      ),
    });
    expect(stub.requests).toHaveLength(4);
  });

  it('does not mistake a slow reader for a stalled connection', async () => {
    await openImpatient();
    const chunks: Buffer[] = [];
    for await (const chunk of await store.get('a')) {
      if (chunks.length === 8) await wait(DEADLINE_MS * 1.5);
      chunks.push(chunk as Buffer);
    }
    expect(Buffer.concat(chunks).equals(BYTES)).toBe(true);
    expect(stub.requests).toHaveLength(1);
  });

  it('does not mix two blobs when the first was replaced meanwhile', async () => {
    stub.fail('GetObject', { kind: 'cut', afterBytes: 100_000 });
    const stream = await store.get('a');
    await store.put('a', inChunks(randomBytes(2_000_000)));
    await expect(stream.toArray()).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
  });

  it('reports that the blob was deleted meanwhile', async () => {
    stub.fail('GetObject', { kind: 'cut', afterBytes: 100_000 });
    const stream = await store.get('a');
    await store.delete('a');
    await expect(stream.toArray()).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
  });

  it('leaves no local file when it fails', async () => {
    stub.fail('GetObject', { kind: 'cut', afterBytes: 1000 }, 100);
    await expect(store.withLocalFile('a', async () => {})).rejects.toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
    });
  });

  it('leaves its connection for the next request', async () => {
    const before = stub.accepted();
    for (let i = 0; i < 5; i += 1) await readBlob(store, 'a');
    expect(stub.accepted()).toBe(before);
  });

  it('closes its connection when its reader stops', async () => {
    stub.fail('GetObject', { kind: 'stall', afterBytes: 100_000 });
    const stream = await store.get('a');
    const before = await stub.connections();
    stream.destroy();
    await expect.poll(() => stub.connections()).toBeLessThan(before);
  });
});
