// The blob store in an S3 bucket, or on a server with the same protocol. An object becomes visible only when its
// write completes. An interrupted write leaves at most a staging object or an incomplete upload, which
// collectLeftovers removes.
import { Readable } from 'node:stream';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { wallClockMs } from '../clock.ts';
import { checkBlobKey, checkBlobPrefix, checkBlobRange, isBlobKey } from './blob-key.ts';
import type { BlobInfo, BlobStore, PutOptions, StoredBlob } from './blob-store.ts';
import { collectS3Leftovers } from './collect-s3-leftovers.ts';
import { headS3Object } from './head-s3-object.ts';
import { collectLocalCopies, withLocalCopy } from './local-copy.ts';
import { s3FailureOf } from './s3-failure.ts';
import type { S3Location } from './s3-location.ts';
import { openS3ReadStream } from './s3-read-stream.ts';
import { type S3Options, S3Session } from './s3-session.ts';
import { type S3Write, writeToS3 } from './s3-write.ts';
import { verifyByReading } from './verify-by-reading.ts';

const MD5_ETAG = /^"?([0-9a-f]{32}(?:-\d+)?)"?$/;
const REMEMBERED_WRITES = 1000;

export class S3Store implements BlobStore {
  readonly description: string;
  readonly #session: S3Session;
  readonly #bucket: string;
  readonly #root: string;
  /** Recent writes of this process, with the expected ETag if the store derives ETags from MD5. */
  readonly #written = new Map<string, { sha256: string; etag: string }>();

  constructor(location: S3Location, options: S3Options = {}) {
    this.#session = new S3Session(location, options);
    this.#bucket = location.bucket;
    this.#root = location.prefix;
    this.description = this.#session.description;
  }

  async put(key: string, source: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredBlob> {
    checkBlobKey(key);
    return this.#finishWrite(await writeToS3(this.#session, { key }, source, options));
  }

  async putByHash(
    hashPrefix: string,
    source: AsyncIterable<Uint8Array>,
    options?: PutOptions,
  ): Promise<StoredBlob> {
    checkBlobPrefix(hashPrefix);
    return this.#finishWrite(await writeToS3(this.#session, { hashPrefix }, source, options));
  }

  async get(key: string, range: { start?: number; end?: number } = {}): Promise<Readable> {
    checkBlobKey(key);
    checkBlobRange(range);
    const empty = range.end !== undefined && range.end <= (range.start ?? 0);
    // S3 has no empty ranges: a request for one byte checks that the blob exists.
    const stream = await openS3ReadStream(this.#session, key, empty ? { start: 0, end: 1 } : range);
    if (stream && !empty) return stream;
    stream?.destroy();
    return Readable.from([], { objectMode: false });
  }

  async head(key: string): Promise<BlobInfo | null> {
    checkBlobKey(key);
    const found = await headS3Object(this.#session, this.#root + key);
    if (!found?.LastModified) return null;
    return { key, bytes: found.ContentLength ?? 0, modifiedAt: found.LastModified };
  }

  async verify(blob: StoredBlob): Promise<void> {
    checkBlobKey(blob.key);
    const found = await headS3Object(this.#session, this.#root + blob.key);
    const etag = md5Etag(found?.ETag, found?.ServerSideEncryption);
    const known = this.#written.get(blob.key);
    const isOurWrite = known?.sha256 === blob.sha256 && known.etag === etag;
    if (isOurWrite && found?.ContentLength === blob.bytes) return;
    await verifyByReading(this, blob);
  }

  list(prefix: string): AsyncGenerator<BlobInfo, void> {
    checkBlobPrefix(prefix);
    return this.#listObjects(prefix);
  }

  async delete(key: string): Promise<void> {
    checkBlobKey(key);
    await this.#remove(this.#root + key);
  }

  async withLocalFile<T>(key: string, work: (path: string) => Promise<T>): Promise<T> {
    return withLocalCopy(await this.get(key), work);
  }

  async collectLeftovers(olderThanMs: number): Promise<number> {
    const copies = await collectLocalCopies(olderThanMs);
    return copies + (await collectS3Leftovers(this.#session, wallClockMs() - olderThanMs));
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async #finishWrite(write: S3Write): Promise<StoredBlob> {
    const { blob, expectedEtag, etag, encryption } = write;
    const found = md5Etag(etag, encryption);
    // Content-MD5 verified every part in transit. A different ETag means that the store computes ETags differently,
    // or that parts are wrong: only the bytes can show which.
    if (found !== undefined && found !== expectedEtag) {
      await verifyByReading(this, blob).catch(async (error: unknown) => {
        if (error instanceof RowmillError && error.code === 'BLOB_CORRUPT') await this.delete(blob.key);
        throw error;
      });
    }
    this.#written.delete(blob.key);
    this.#written.set(blob.key, { sha256: blob.sha256, etag: expectedEtag });
    if (this.#written.size > REMEMBERED_WRITES) this.#written.delete(this.#written.keys().next().value!);
    return blob;
  }

  async *#listObjects(prefix: string): AsyncGenerator<BlobInfo, void> {
    let token: string | undefined;
    do {
      const page = await this.#session.call(`ListObjectsV2 of ${this.#root}${prefix}`, (s3, sending) =>
        s3.listObjectsV2(
          { Bucket: this.#bucket, Prefix: this.#root + prefix, ContinuationToken: token },
          sending,
        ),
      );
      for (const { Key, Size, LastModified } of page.Contents ?? []) {
        const key = Key?.slice(this.#root.length);
        if (key !== undefined && isBlobKey(key) && LastModified) {
          yield { key, bytes: Size ?? 0, modifiedAt: LastModified };
        }
      }
      token = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async #remove(objectKey: string): Promise<void> {
    try {
      await this.#session.call(`DeleteObject of ${objectKey}`, (s3, sending) =>
        s3.deleteObject({ Bucket: this.#bucket, Key: objectKey }, sending),
      );
    } catch (error) {
      if (s3FailureOf(error)?.code !== 'NoSuchKey') throw error;
    }
  }
}

/** Undefined if the ETag is not an MD5: the object is encrypted with a key, or the store computes ETags differently. */
function md5Etag(etag: string | undefined, encryption: string | undefined): string | undefined {
  if (encryption !== undefined && encryption !== 'AES256') return undefined;
  return MD5_ETAG.exec(etag ?? '')?.[1];
}
