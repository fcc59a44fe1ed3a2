// Stores the images of a file set as copies of that set.
import type { FileSet } from '../engine/items/file-set.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { imageCopyKey } from '../platform/blob-store/image-copies.ts';
import type { KeepImage } from './formats/read-images.ts';

export function keepImageIn(blobs: BlobStore, { setId, images }: FileSet): KeepImage {
  return async (bytes, sha256) => {
    const key = `images/${sha256}`;
    // Listed before it is stored: if the set is refused, the listed images are deleted.
    images.set(key, bytes.length);
    await blobs.put(imageCopyKey(key, setId), once(bytes));
    return key;
  };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
