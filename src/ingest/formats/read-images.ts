// Turns a set of images into rows. The images go to the blob store, with a manifest: JSON lines that begin with
// MANIFEST_LINE, then one line per image. Ingest reads and resumes the manifest, never the set itself.
import { IMAGE_HEADERS, MANIFEST_LINE } from '../../core/items/image-rows.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { isImageKey } from '../../platform/blob-store/image-copies.ts';
import { MAX_RAW_LENGTH, type ReadLimits, type ReadRow, type RowReader } from '../row-reader.ts';
import { describeImage, tooManyBytes } from './image-manifest.ts';
import { readLines } from './read-lines.ts';
import { isLitter } from './sniff-zip.ts';
import { openZip } from './zip-archive.ts';

export interface ImageFile {
  name: string;
  open(): AsyncIterable<Buffer>;
}

/** Images that are being stored at the same time; each is in memory. */
const PARALLEL_PUTS = 4;
/** Errors of a single zip entry; any other error concerns the whole archive. */
const ENTRY_ERRORS: readonly string[] = ['FILE_INVALID', 'FILE_INCOMPLETE', 'FILE_UNSUPPORTED'];

/** Stores an image and returns its key. */
export type KeepImage = (bytes: Buffer, sha256: string) => Promise<string>;

/** The files of a zip in the order of its directory, within the archive limits. */
export async function* imagesOfZip(path: string, limits: ReadLimits): AsyncGenerator<ImageFile> {
  const archive = await openZip(path, limits);
  try {
    for (const entry of archive.entries) {
      if (!isLitter(entry.name)) yield { name: entry.name, open: () => archive.inflate(entry) };
    }
  } finally {
    archive.close();
  }
}

/** Stores the images and yields the manifest. A file is read to its end before the next is requested. */
export async function* storeImageSet(
  files: AsyncIterable<ImageFile>,
  keep: KeepImage,
  limits: ReadLimits,
): AsyncGenerator<Buffer> {
  yield Buffer.from(`${MANIFEST_LINE}\n`);
  const waiting: Promise<string>[] = [];
  try {
    for await (const file of files) {
      const bytes = await readImage(file, limits);
      const line = storeImage(file.name, bytes, keep, limits);
      // Awaited in its turn; until then a failure must not count as an unhandled rejection.
      line.catch(() => {});
      waiting.push(line);
      if (waiting.length >= PARALLEL_PUTS) yield Buffer.from(await waiting.shift()!);
    }
    while (waiting.length > 0) yield Buffer.from(await waiting.shift()!);
  } finally {
    await Promise.allSettled(waiting);
  }
}

async function readImage(file: ImageFile, limits: ReadLimits): Promise<Buffer | { reason: string }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of file.open()) {
      bytes += chunk.length;
      if (bytes > limits.imageMaxBytes) return { reason: tooManyBytes(limits) };
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof RowmillError && ENTRY_ERRORS.includes(error.code)) return { reason: error.message };
    throw error;
  }
  return Buffer.concat(chunks);
}

async function storeImage(
  name: string,
  bytes: Buffer | { reason: string },
  keep: KeepImage,
  limits: ReadLimits,
): Promise<string> {
  const described = Buffer.isBuffer(bytes)
    ? await describeImage(bytes, name, limits)
    : { ok: false as const, reason: bytes.reason };
  if (!described.ok) return `${JSON.stringify({ file: name, rejected: described.reason })}\n`;
  const { type, width, height, sha256 } = described.image;
  const blob = await keep(bytes as Buffer, sha256);
  return `${JSON.stringify({ file: name, type, bytes: described.image.bytes, width, height, blob })}\n`;
}

/** The rows that a job of these images would have. The images are read one after the other and not stored. */
export function imageSetReader(files: () => AsyncIterable<ImageFile>, limits: ReadLimits): RowReader {
  return {
    detected: { format: 'images', encoding: 'utf-8', warnings: [] },
    headers: [...IMAGE_HEADERS],
    async *rows() {
      let line = 0;
      for await (const text of storeImageSet(files(), async (_, sha256) => `images/${sha256}`, limits)) {
        line += 1;
        if (line > 1) yield [toRow(line, text.toString().trim())];
      }
    },
  };
}

export async function openImageManifest(path: string, limits: ReadLimits): Promise<RowReader> {
  return imageManifestReader(path, limits);
}

export function imageManifestReader(path: string, limits: ReadLimits): RowReader {
  return {
    detected: { format: 'images', encoding: 'utf-8', warnings: [] },
    headers: [...IMAGE_HEADERS],
    async *rows() {
      const source = { path, encoding: 'utf-8', lineEnd: '\n' as const, maxLineBytes: limits.maxRowBytes };
      for await (const lines of readLines(source)) {
        const rows = lines
          .filter(({ line, text }) => line > 1 && text.trim() !== '')
          .map(({ line, text }) => toRow(line, text));
        if (rows.length > 0) yield rows;
      }
    },
  };
}

function toRow(line: number, text: string): ReadRow {
  const reject = (reason: string, raw = text): ReadRow => ({
    kind: 'rejected',
    line,
    reason,
    raw: raw.slice(0, MAX_RAW_LENGTH),
  });
  let entry: Record<string, unknown>;
  try {
    entry = Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return reject('expected a line of an image manifest');
  }
  const { file, type, bytes, width, height, blob, rejected } = entry;
  if (typeof file !== 'string') return reject('expected a line of an image manifest');
  if (typeof rejected === 'string') return reject(rejected, file);
  // A handwritten manifest must not reach other blobs.
  if (typeof blob !== 'string' || !isImageKey(blob)) return reject('expected the key of a stored image');
  if (typeof type !== 'string' || ![bytes, width, height].every(Number.isSafeInteger))
    return reject('expected a line of an image manifest');
  return {
    kind: 'cells',
    line,
    cells: [file, type, `${bytes}`, `${width}`, `${height}`, blob],
    repair: null,
  };
}
