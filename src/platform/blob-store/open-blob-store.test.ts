import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { killAll, startChild } from '../../../test/support/child-process.ts';
import { startS3Stub } from '../../../test/support/s3-stub.ts';
import { openBlobStore } from './open-blob-store.ts';

const CHILD = new URL('../../../test/support/blob-store-child.ts', import.meta.url);
const MIB = 1024 * 1024;
afterEach(killAll);

describe('the setting blobStore', () => {
  it.each([
    ['.rowmill/blobs', `folder ${resolve('.rowmill/blobs')}`],
    ['/var/lib/rowmill', `folder ${resolve('/var/lib/rowmill')}`],
    [pathToFileURL(resolve('a folder')).href, `folder ${resolve('a folder')}`],
    ['./a:b', `folder ${resolve('./a:b')}`],
    ['s3://bucket', 's3://bucket/'],
    ['S3://bucket/a/b?region=eu-west-1', 's3://bucket/a/b/'],
  ])('%s is %s', (location, description) => {
    expect(openBlobStore(location).description).toBe(description);
  });

  it.each(['', ' ', 'gs://bucket', 'https://user:secret@host/bucket', 's3:bucket', 'file://host/folder'])(
    'refuses %j and names the possible forms',
    (location) => {
      const refusal = expect.objectContaining({
        code: 'BLOB_STORE_INVALID',
        message: expect.stringMatching(/expected the (setting blobStore|blob store) to be .*s3:\/\/bucket/),
      });
      expect(() => openBlobStore(location)).toThrow(refusal);
      expect(() => openBlobStore(location)).not.toThrow(/secret/);
    },
  );
});

describe('300 MB', () => {
  const BYTES = 300 * MIB;
  // Room for four parts of 8 MiB, their copies in the SDK and uncollected garbage, but far less than 300 MB.
  const BOUND = 150 * MIB;

  async function expectSmallGrowth(location: string): Promise<void> {
    const child = startChild({
      script: CHILD,
      args: ['measure', location, String(BYTES)],
      env: { AWS_ACCESS_KEY_ID: 'rowmill', AWS_SECRET_ACCESS_KEY: 'rowmill-secret' },
    });
    for (const event of ['written', 'read']) {
      const { bytes, growthBytes } = await child.waitFor(event, () => true, 60_000);
      expect(bytes).toBe(BYTES);
      expect(growthBytes).toBeLessThan(BOUND);
    }
    await child.waitFor('ended');
  }

  it('are written to the file system and read back with little memory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rowmill-test-'));
    await expectSmallGrowth(folder);
    await rm(folder, { recursive: true });
  });

  it('are written to S3 and read back with little memory', async () => {
    const stub = await startS3Stub();
    await expectSmallGrowth(`s3://${stub.bucket}/pre?endpoint=${stub.endpoint}`);
    await stub.stop();
  });
});
