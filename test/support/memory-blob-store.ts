// A blob store in memory, for tests that finish thousands of jobs and only need files to be written and read back:
// waiting for the disk took half of their time. The real stores are tested by their contract.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { BlobStore, StoredBlob } from '../../src/platform/blob-store/blob-store.ts';

export function createMemoryBlobStore(): BlobStore {
  const blobs = new Map<string, { content: Buffer; modifiedAt: Date }>();
  const infoOf = (key: string, { content, modifiedAt }: { content: Buffer; modifiedAt: Date }) => ({
    key,
    bytes: content.length,
    modifiedAt,
  });
  const store: BlobStore = {
    description: 'memory',
    async put(key, source) {
      const pieces: Uint8Array[] = [];
      for await (const piece of source) pieces.push(piece);
      const content = Buffer.concat(pieces);
      blobs.set(key, { content, modifiedAt: new Date() });
      return storedBlob(key, content);
    },
    async putByHash(prefix, source, options) {
      const { sha256 } = await store.put(`${prefix}new`, source, options);
      const written = blobs.get(`${prefix}new`)!;
      blobs.delete(`${prefix}new`);
      blobs.set(prefix + sha256, written);
      return storedBlob(prefix + sha256, written.content);
    },
    async get(key, { start = 0, end } = {}) {
      return Readable.from([found(key).subarray(start, end)]);
    },
    async head(key) {
      const blob = blobs.get(key);
      return blob ? infoOf(key, blob) : null;
    },
    async verify(blob) {
      if (storedBlob(blob.key, found(blob.key)).sha256 !== blob.sha256)
        throw new Error(`${blob.key} changed`);
    },
    async *list(prefix) {
      for (const [key, blob] of [...blobs].sort(([a], [b]) => (a < b ? -1 : 1))) {
        if (key.startsWith(prefix)) yield infoOf(key, blob);
      }
    },
    async delete(key) {
      blobs.delete(key);
    },
    withLocalFile: () => Promise.reject(new Error('there is no file')),
    collectLeftovers: async () => 0,
    close: async () => {},
  };
  function found(key: string): Buffer {
    const blob = blobs.get(key);
    if (!blob) throw new Error(`expected a blob at ${key}`);
    return blob.content;
  }
  return store;
}

function storedBlob(key: string, content: Buffer): StoredBlob {
  return { key, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
}
