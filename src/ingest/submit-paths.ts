// Submits local files as named on the command line: one file of rows, or images (several files, or a folder of them).
// The library exports it as `createFileJob`.
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { readHead } from './formats/look-at-file.ts';
import { identifyBytes, isImageType } from './formats/magic-bytes.ts';
import type { ImageFile } from './formats/read-images.ts';
import { type SubmitFileOptions, type SubmittedFile, submitFile, submitImages } from './submit-file.ts';
import { unreadableFile } from './unreadable-file.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** The path that means standard input. */
export const STANDARD_INPUT = '-';

export async function submitPaths(
  context: EngineContext,
  pipeline: Pipeline,
  paths: string[],
  options: SubmitFileOptions = {},
): Promise<SubmittedFile> {
  const [first] = paths;
  if (first === undefined) throw new RowmillError('FILE_INVALID', 'expected a file of rows');
  if (first === STANDARD_INPUT && paths.length === 1) {
    const input = { kind: 'file', name: 'standard input', bytes: process.stdin };
    return submitFile(context, pipeline, input, options);
  }
  const isFolder = (await reading(first, stat(first))).isDirectory();
  if (paths.length > 1 || isFolder) {
    const files = isFolder && paths.length === 1 ? await filesIn(first) : paths;
    await checkHasImage(files);
    const file = { kind: 'file', name: isFolder ? basename(first) : `${files.length} images` };
    return submitImages(context, pipeline, file, imageFiles(files), options);
  }
  const handle = await reading(first, open(first));
  try {
    // The size of the open file, not of a file that gets its name later. A file that grows meanwhile is refused.
    const stats = await handle.stat();
    const file = { kind: 'file', name: basename(first), bytes: readAll(handle) };
    // A pipe has no size.
    const expected = stats.isFile() ? { expectedBytes: stats.size } : {};
    return await submitFile(context, pipeline, { ...file, ...expected }, options);
  } finally {
    await handle.close();
  }
}

async function* readAll(handle: FileHandle): AsyncGenerator<Buffer> {
  yield* handle.createReadStream({ autoClose: false, highWaterMark: 1024 * 1024 });
}

export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(folder, entry.name))
    .sort();
}

/** Several files of rows are a mistake: they would become a job without rows. */
export async function checkHasImage(paths: string[]): Promise<void> {
  for (const path of paths) {
    if (isImageType(identifyBytes(await readHead(path)))) return;
  }
  throw new RowmillError(
    'FILE_UNSUPPORTED',
    `expected images, but none of the ${paths.length} files is one`,
    {
      hint: 'Only images can be submitted together. Submit each file of rows separately.',
    },
  );
}

export async function* imageFiles(paths: string[]): AsyncGenerator<ImageFile> {
  for (const path of paths) {
    await reading(path, stat(path));
    yield { name: basename(path), open: () => createReadStream(path) };
  }
}

export async function reading<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw unreadableFile(path, cause);
  }
}
