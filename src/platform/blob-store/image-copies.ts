// Images of rows. A row names an image by its hash, `images/<sha256>`, so that the same image is the same row in
// every job. Each set of files has its own copy, which is deleted with the set. Jobs never share a copy.
import type { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { BlobStore } from './blob-store.ts';

const IMAGE_KEY = /^images\/([0-9a-f]{64})$/;
/** A copy that was found may be deleted with its job before it is read. */
const FIND_ATTEMPTS = 5;

export const IMAGE_COPIES = 'image-copies/';

export function isImageKey(key: string): boolean {
  return IMAGE_KEY.test(key);
}

/** The key of the copy that belongs to one set. */
export function imageCopyKey(imageKey: string, setId: string): string {
  return `${IMAGE_COPIES}${IMAGE_KEY.exec(imageKey)![1]}/${setId}`;
}

/**
 * Returns the key under which the bytes are stored. Older versions stored images under their own name, without
 * copies.
 */
async function findStoredKey(blobs: Pick<BlobStore, 'list'>, key: string): Promise<string> {
  const sha256 = IMAGE_KEY.exec(key)?.[1];
  if (sha256 !== undefined) for await (const copy of blobs.list(`${IMAGE_COPIES}${sha256}/`)) return copy.key;
  return key;
}

/** Opens a blob by the name that rows and summaries use. */
export async function openStored(blobs: Pick<BlobStore, 'get' | 'list'>, key: string): Promise<Readable> {
  for (let attempts = 1; ; attempts += 1) {
    const storedKey = await findStoredKey(blobs, key);
    try {
      return await blobs.get(storedKey);
    } catch (error) {
      const isGone = error instanceof RowmillError && error.code === 'BLOB_NOT_FOUND';
      if (!isGone || storedKey === key || attempts >= FIND_ATTEMPTS) throw error;
    }
  }
}
