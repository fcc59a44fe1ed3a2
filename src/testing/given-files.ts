// Files that a test provides to its handlers in place of the blob store.
import { Readable } from 'node:stream';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';

export type GivenFiles = Readonly<Record<string, Uint8Array | string>>;

export function givenFiles(files: GivenFiles): Pick<BlobStore, 'get' | 'list'> {
  return {
    async *list() {},
    get: async (key) => {
      if (Object.hasOwn(files, key)) return Readable.from([Buffer.from(files[key]!)]);
      const known = Object.keys(files).join(', ') || 'none';
      throw new RowmillError('BLOB_NOT_FOUND', `there is no file ${key}; the test provides ${known}`, {
        hint: 'Add it to the option files of runPipeline.',
      });
    },
  };
}
