// Blobs of one submitted file. No other submission uses the same keys, so they can be deleted without checking other
// jobs. One row in file_sets (migrations/0038) decides whether they are kept.
import { createInterface } from 'node:readline';
import { MANIFEST_LINE } from '../../core/items/image-rows.ts';
import { imageCopyKey, isImageKey } from '../../platform/blob-store/image-copies.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { dropFileSet, insertFileSet } from '../../store/commands/items/change-file-sets.ts';
import type { EngineContext } from '../engine-context.ts';

const SET_OF_FILE = /^files\/([0-9a-f-]{36})\/[0-9a-f]{64}$/;

export interface FileSet {
  setId: string;
  /** Prefix of the keys of its files. */
  prefix: string;
  /** Its images by the keys that rows use for them, with their size in bytes. */
  images: Map<string, number>;
}

/** Returns null for a file of an older version, which several jobs may share. */
export function setOfFile(blobKey: string): string | null {
  return SET_OF_FILE.exec(blobKey)?.[1] ?? null;
}

/** Keeps the stored files if `work` created a job from them, and deletes them otherwise. */
export async function withFileSet<T extends { created: boolean; source: { blobKey: string } }>(
  context: EngineContext,
  work: (set: FileSet) => Promise<T>,
): Promise<T> {
  const setId = newId();
  const set: FileSet = { setId, prefix: `files/${setId}/`, images: new Map() };
  await retryPassing(() => insertFileSet(context.db, setId));
  let kept: string | null = null;
  try {
    const made = await work(set);
    if (made.created) kept = made.source.blobKey;
    return made;
  } finally {
    // The blob collector deletes files that cannot be deleted now.
    await (kept === null ? refuse(context, set) : removeFiles(context, set.prefix, kept)).catch(() => {});
  }
}

/** After a lost COMMIT reply a job may own the files. The row in file_sets shows this. */
async function refuse(context: EngineContext, { setId, prefix, images }: FileSet): Promise<void> {
  if (!(await retryPassing(() => dropFileSet(context.db, setId)))) return;
  await removeFiles(context, prefix, null);
  for (const key of images.keys()) await context.blobs.delete(imageCopyKey(key, setId));
}

/** Deletes a set that has no row: first the images, then the manifest that names them. */
export async function removeSetBlobs(context: EngineContext, setId: string, fileKey: string): Promise<void> {
  for await (const key of imagesNamedIn(context, fileKey))
    await context.blobs.delete(imageCopyKey(key, setId));
  await removeFiles(context, `files/${setId}/`, null);
}

async function removeFiles({ blobs }: EngineContext, prefix: string, kept: string | null): Promise<void> {
  for await (const { key } of blobs.list(prefix)) if (key !== kept) await blobs.delete(key);
}

async function* imagesNamedIn({ blobs }: EngineContext, fileKey: string): AsyncGenerator<string> {
  if ((await blobs.head(fileKey)) === null) return;
  const start = await blobs.get(fileKey, { start: 0, end: MANIFEST_LINE.length });
  if (Buffer.concat(await start.toArray()).toString() !== MANIFEST_LINE) return;
  const input = await blobs.get(fileKey);
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const key = /"blob":"([^"]*)"\}$/.exec(line)?.[1];
    if (key !== undefined && isImageKey(key)) yield key;
  }
}
