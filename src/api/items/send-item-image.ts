// Sends the image of a row of an image job, for display on the page. The type is detected from its first bytes: only
// known image types are sent as images.
import { Readable } from 'node:stream';
import { imageKeys } from '../../contract/image-keys.ts';
import type { itemRoutes } from '../../contract/items.ts';
import { rowNumber } from '../../contract/row-number.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { setOfFile } from '../../engine/items/file-set.ts';
import {
  type ImageType,
  identifyBytes,
  isImageType,
  MAGIC_LENGTH,
} from '../../ingest/formats/magic-bytes.ts';
import type { BlobStore } from '../../platform/blob-store/blob-store.ts';
import { imageCopyKey, isImageKey } from '../../platform/blob-store/image-copies.ts';
import { readItemImage } from '../../store/views/items/read-item-image.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import { chooseBytes, rangeOf } from '../answers/choose-bytes.ts';
import { dropIdleReader } from '../requests/drop-slow-clients.ts';
import type { BytesAnswer, Handler } from '../requests/handler.ts';

const TYPES: Record<ImageType, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  heic: 'image/heic',
  tiff: 'image/tiff',
  bmp: 'image/bmp',
};
/** Concurrent images per caller: more than a browser requests, even over HTTP/2. */
const AT_ONCE = 64;

export const sendItemImage: Handler<typeof itemRoutes.getItemImage> = async (request, context) => {
  const { actor, job, params, reply, raw, signal } = request;
  const { blobs, settings } = context.engine;
  const keys = imageKeys(job.inputColumns, job.source?.detected.format);
  const image = keys && (await readItemImage(context.reads, job.jobId, params.seq, keys));
  if (keys && !image) throw new RowmillError('ITEM_NOT_FOUND', `the job has no row ${rowNumber(params.seq)}`);
  const key = image?.blobKey ?? '';
  if (!isImageKey(key)) throw noImage(params.seq);
  const etag = `"${key.slice(key.lastIndexOf('/') + 1)}"`;
  const release = context.slots.images.take(actor.userId, AT_ONCE);
  if (!release)
    throw new RetryLaterError(
      'RATE_LIMITED',
      `expected at most ${AT_ONCE} concurrent images per caller`,
      1000,
    );
  try {
    const setId = setOfFile(job.source!.blobKey);
    // Only the job's own copy is read, never one of another owner: a manifest can be written by hand.
    const storedKey = setId === null ? key : imageCopyKey(key, setId);
    const known = await lookAt(blobs, storedKey, settings.imageMaxBytes, params.seq);
    const { bytes, contentType } = known;
    const chosen = chooseBytes(raw, reply, { bytes, etag });
    const answer: Omit<BytesAnswer, 'stream'> = {
      contentType,
      name: image?.name ?? `image-${params.seq}`,
      stored: { bytes, etag, chosen },
      isShown: true,
    };
    if (chosen.kind === 'known' || raw.method === 'HEAD') {
      release();
      return { ...answer, stream: Readable.from([]) };
    }
    const stream = await blobs.get(storedKey, rangeOf(chosen));
    stream.once('close', release);
    stream.once('error', () => {});
    if (signal.aborted) stream.destroy();
    signal.addEventListener('abort', () => stream.destroy(), { once: true });
    dropIdleReader(reply.raw, settings.apiIdleMs);
    return { ...answer, stream };
  } catch (error) {
    release();
    throw error instanceof RowmillError && error.code === 'BLOB_NOT_FOUND' ? noImage(params.seq) : error;
  }
};

async function lookAt(
  blobs: BlobStore,
  key: string,
  maxBytes: number,
  seq: number,
): Promise<{ contentType: string; bytes: number }> {
  const info = await blobs.head(key);
  if (!info || info.bytes > maxBytes) throw noImage(seq);
  const chunks: Buffer[] = [];
  for await (const chunk of await blobs.get(key, { start: 0, end: MAGIC_LENGTH }))
    chunks.push(chunk as Buffer);
  const type = identifyBytes(Buffer.concat(chunks));
  if (!isImageType(type)) throw noImage(seq);
  return { contentType: TYPES[type], bytes: info.bytes };
}

function noImage(seq: number): RowmillError {
  return new RowmillError('FILE_NOT_FOUND', `row ${rowNumber(seq)} has no image`);
}
