// Stores the images of a set as its own copies.
import type { FileSet } from '../engine/items/file-set.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { imageCopyKey } from '../platform/blob-store/image-copies.ts';
import type { KeepImage } from './formats/read-images.ts';

export function keepImageIn(blobs: BlobStore, { setId, images }: FileSet): KeepImage {
  return async (bytes, sha256) => {
    const key = `images/${sha256}`;
    // Before it is stored: a refusal deletes what is here.
    images.set(key, bytes.length);
    await blobs.put(imageCopyKey(key, setId), once(bytes));
    return key;
  };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
