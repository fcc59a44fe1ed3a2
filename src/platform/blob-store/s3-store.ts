// The blob store in a bucket of S3 or of a server that speaks its protocol. An object becomes visible when its write
// ends, never before; a write that did not end leaves at most a staging object or an incomplete upload, which
// collectLeftovers removes.
import { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { wallClockMs } from '../clock.ts';
import { checkBlobKey, checkBlobPrefix, checkBlobRange, isBlobKey } from './blob-key.ts';
import type { BlobInfo, BlobStore, StoredBlob } from './blob-store.ts';
import { collectS3Leftovers } from './collect-s3-leftovers.ts';
import { headS3Object } from './head-s3-object.ts';
import { collectLocalCopies, withLocalCopy } from './local-copy.ts';
import { s3FailureOf } from './s3-failure.ts';
import type { S3Location } from './s3-location.ts';
import { openS3ReadStream } from './s3-read-stream.ts';
import { openS3Session, type S3Options } from './s3-session.ts';
import { type S3Write, writeToS3 } from './s3-write.ts';
import { verifyByReading } from './verify-by-reading.ts';

const MD5_ETAG = /^"?([0-9a-f]{32}(?:-\d+)?)"?$/;
const REMEMBERED_WRITES = 1000;

export function openS3Store(location: S3Location, options: S3Options = {}): BlobStore {
  const session = openS3Session(location, options);
  const { bucket, prefix: root } = location;
  /** What this process wrote lately, with the ETag it must have if the store makes them of MD5. */
  const written = new Map<string, { sha256: string; etag: string }>();

  async function finishWrite(write: S3Write): Promise<StoredBlob> {
    const { blob, expectedEtag, etag, encryption } = write;
    const found = md5Etag(etag, encryption);
    // Every part was checked on its way by Content-MD5. An ETag that is another can be another way to make ETags, or
    // wrong parts: only the bytes themselves tell.
    if (found !== undefined && found !== expectedEtag) {
      await verifyByReading(store, blob).catch(async (error: unknown) => {
        if (error instanceof RowmillError && error.code === 'BLOB_CORRUPT') await store.delete(blob.key);
        throw error;
      });
    }
    written.delete(blob.key);
    written.set(blob.key, { sha256: blob.sha256, etag: expectedEtag });
    if (written.size > REMEMBERED_WRITES) written.delete(written.keys().next().value!);
    return blob;
  }

  async function* listObjects(prefix: string): AsyncGenerator<BlobInfo, void> {
    let token: string | undefined;
    do {
      const page = await session.call(`ListObjectsV2 of ${root}${prefix}`, (s3, sending) =>
        s3.listObjectsV2({ Bucket: bucket, Prefix: root + prefix, ContinuationToken: token }, sending),
      );
      for (const { Key, Size, LastModified } of page.Contents ?? []) {
        const key = Key?.slice(root.length);
        if (key !== undefined && isBlobKey(key) && LastModified) {
          yield { key, bytes: Size ?? 0, modifiedAt: LastModified };
        }
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async function remove(objectKey: string): Promise<void> {
    try {
      await session.call(`DeleteObject of ${objectKey}`, (s3, sending) =>
        s3.deleteObject({ Bucket: bucket, Key: objectKey }, sending),
      );
    } catch (error) {
      if (s3FailureOf(error)?.code !== 'NoSuchKey') throw error;
    }
  }

  const store: BlobStore = {
    description: session.description,

    async put(key, source, putOptions) {
      checkBlobKey(key);
      return finishWrite(await writeToS3(session, { key }, source, putOptions));
    },

    async putByHash(hashPrefix, source, putOptions) {
      checkBlobPrefix(hashPrefix);
      return finishWrite(await writeToS3(session, { hashPrefix }, source, putOptions));
    },

    async get(key, range = {}) {
      checkBlobKey(key);
      checkBlobRange(range);
      const empty = range.end !== undefined && range.end <= (range.start ?? 0);
      // S3 knows no empty range: the request for one byte tells whether the blob is there.
      const stream = await openS3ReadStream(session, key, empty ? { start: 0, end: 1 } : range);
      if (stream && !empty) return stream;
      stream?.destroy();
      return Readable.from([], { objectMode: false });
    },

    async head(key) {
      checkBlobKey(key);
      const found = await headS3Object(session, root + key);
      if (!found?.LastModified) return null;
      return { key, bytes: found.ContentLength ?? 0, modifiedAt: found.LastModified };
    },

    async verify(blob) {
      checkBlobKey(blob.key);
      const found = await headS3Object(session, root + blob.key);
      const etag = md5Etag(found?.ETag, found?.ServerSideEncryption);
      const known = written.get(blob.key);
      const isOurWrite = known?.sha256 === blob.sha256 && known.etag === etag;
      if (isOurWrite && found?.ContentLength === blob.bytes) return;
      await verifyByReading(store, blob);
    },

    list(prefix) {
      checkBlobPrefix(prefix);
      return listObjects(prefix);
    },

    async delete(key) {
      checkBlobKey(key);
      await remove(root + key);
    },

    async withLocalFile(key, work) {
      return withLocalCopy(await store.get(key), work);
    },

    async collectLeftovers(olderThanMs) {
      const copies = await collectLocalCopies(olderThanMs);
      return copies + (await collectS3Leftovers(session, wallClockMs() - olderThanMs));
    },

    close: () => session.close(),
  };
  return store;
}

/** Undefined for an ETag that was not made of MD5: of an object encrypted with a key, or of another kind of store. */
function md5Etag(etag: string | undefined, encryption: string | undefined): string | undefined {
  if (encryption !== undefined && encryption !== 'AES256') return undefined;
  return MD5_ETAG.exec(etag ?? '')?.[1];
}
