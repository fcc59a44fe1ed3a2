// Verifies a blob without help from the store: reads all bytes back, counts and hashes them.
import { createHash } from 'node:crypto';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { BlobStore, StoredBlob } from './blob-store.ts';

export async function verifyByReading(store: BlobStore, blob: StoredBlob): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of await store.get(blob.key)) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).byteLength;
  }
  const sha256 = hash.digest('hex');
  if (bytes === blob.bytes && sha256 === blob.sha256) return;
  throw new RowmillError(
    'BLOB_CORRUPT',
    `expected ${blob.key} to have ${blob.bytes} bytes with sha256 ${blob.sha256}, got ${bytes} bytes with ${sha256}`,
  );
}
