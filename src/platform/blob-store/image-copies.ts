// Images of rows. A row names an image by its bytes, `images/<sha256>`, so that the same image is the same row in every job.
// Each set of files has a copy of its own and no two jobs share one: a copy is deleted with its set, whatever others do.
import type { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { BlobStore } from './blob-store.ts';

const IMAGE_KEY = /^images\/([0-9a-f]{64})$/;
/** Copies may go while they are looked for: other jobs are deleted meanwhile. */
const FIND_ATTEMPTS = 5;

export const IMAGE_COPIES = 'image-copies/';

/** Names of images, and of nothing else. */
export function isImageKey(key: string): boolean {
  return IMAGE_KEY.test(key);
}

/** Where the copy of one set is stored. */
export function imageCopyKey(imageKey: string, setId: string): string {
  return `${IMAGE_COPIES}${IMAGE_KEY.exec(imageKey)![1]}/${setId}`;
}

/** Where bytes of this name are stored; an image that nobody has a copy of may be one of an older version. */
async function findStoredKey(blobs: Pick<BlobStore, 'list'>, key: string): Promise<string> {
  const sha256 = IMAGE_KEY.exec(key)?.[1];
  if (sha256 !== undefined) for await (const copy of blobs.list(`${IMAGE_COPIES}${sha256}/`)) return copy.key;
  return key;
}

/** Bytes by the name that rows and summaries have for them. */
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
