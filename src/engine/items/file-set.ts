// Blobs of one submitted file. They have keys that no other submission has, so that they can be deleted without a look at
// other jobs; whether they are kept is decided by one row in file_sets (migrations/0040).
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
  /** Begin of the keys of its files. */
  prefix: string;
  /** Its images by the names that rows have for them, with their bytes. */
  images: Map<string, number>;
}

/** Null for a file of an older version, which jobs may share. */
export function setOfFile(blobKey: string): string | null {
  return SET_OF_FILE.exec(blobKey)?.[1] ?? null;
}

/** Keeps what `work` stored when it created a job of it, and nothing otherwise. */
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
    // What cannot be deleted now, the collector finds.
    await (kept === null ? refuse(context, set) : removeFiles(context, set.prefix, kept)).catch(() => {});
  }
}

/** A commit whose reply was lost may have made a job of it: the row says so. */
async function refuse(context: EngineContext, { setId, prefix, images }: FileSet): Promise<void> {
  if (!(await retryPassing(() => dropFileSet(context.db, setId)))) return;
  await removeFiles(context, prefix, null);
  for (const key of images.keys()) await context.blobs.delete(imageCopyKey(key, setId));
}

/** Of a set without a row. The images before the manifest that names them. */
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
