// Opens anything that `rowmill run` accepts, to inspect its rows: a file, standard input, a pipe, an image, a zip or
// a folder of images. Nothing is stored; the bytes of a pipe are in a temporary file while they are inspected.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Settings } from '../platform/settings.ts';
import { imageSetReader, imagesOfZip } from './formats/read-images.ts';
import { sniffFile, withRows } from './open-rows.ts';
import { readLimits } from './read-options.ts';
import type { FormatOptions, RowReader } from './row-reader.ts';
import { withSpooledFile } from './spool-file.ts';
import { checkHasImage, filesIn, imageFiles, reading, STANDARD_INPUT } from './submit-paths.ts';

export async function withRowsAt<T>(
  path: string,
  options: FormatOptions,
  settings: Settings,
  work: (reader: RowReader) => Promise<T>,
): Promise<T> {
  const limits = readLimits(settings);
  const spooled = (name: string, bytes: AsyncIterable<Uint8Array>): Promise<T> =>
    withSpooledFile(bytes, { maxBytes: settings.uploadMaxBytes, limitName: 'uploadMaxBytes' }, (file) =>
      withRowsOfFile(file.path, name, options, settings, work),
    );
  if (path === STANDARD_INPUT) return spooled('standard input', process.stdin);
  const found = await reading(path, stat(path));
  if (found.isDirectory()) {
    const files = await filesIn(path);
    await checkHasImage(files);
    return work(imageSetReader(() => imageFiles(files), limits));
  }
  if (!found.isFile()) return spooled(basename(path), createReadStream(path));
  return withRowsOfFile(path, basename(path), options, settings, work);
}

async function withRowsOfFile<T>(
  path: string,
  name: string,
  options: FormatOptions,
  settings: Settings,
  work: (reader: RowReader) => Promise<T>,
): Promise<T> {
  const limits = readLimits(settings);
  const { kind } = await sniffFile(path, limits);
  if (kind === 'imageZip') return work(imageSetReader(() => imagesOfZip(path, limits), limits));
  if (kind === 'image') {
    const image = { name, open: () => createReadStream(path) };
    return work(
      imageSetReader(async function* () {
        yield image;
      }, limits),
    );
  }
  return withRows(path, options, limits, work);
}
