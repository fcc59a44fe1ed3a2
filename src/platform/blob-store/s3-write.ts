// Writes one blob to S3: in one request if it fits in one part, otherwise as a multipart upload. A blob that is named
// after its hash is uploaded under a staging key, because its name is known only at the end, and is then copied part
// by part within the store: each copy is short, and the object gets the same ETag as the upload.
import { createHash } from 'node:crypto';
import { newId } from '../random.ts';
import type { PutOptions, StoredBlob } from './blob-store.ts';
import { gatherBlocks } from './gather-blocks.ts';
import { meterSource } from './meter-source.ts';
import { multipartEtag, type Part, partBytes, type SendPart, uploadInParts } from './s3-multipart.ts';
import type { S3Session } from './s3-session.ts';

export const S3_STAGING = '.staging/';
const UPLOADS_IN_FLIGHT = 3;
// The bytes of a copy do not pass through this process.
const COPIES_IN_FLIGHT = 8;

export interface S3Write {
  blob: StoredBlob;
  /** The ETag if the store derives ETags from MD5, as most do. */
  expectedEtag: string;
  etag: string | undefined;
  encryption: string | undefined;
}

type PartToSend = Part & { send: SendPart };

interface Block {
  body: Buffer;
  md5: Buffer;
}

/** `target` has the key of the blob, or the prefix of a key that ends with its hash. */
export async function writeToS3(
  session: S3Session,
  target: { key: string } | { hashPrefix: string },
  source: AsyncIterable<Uint8Array>,
  options: PutOptions = {},
): Promise<S3Write> {
  const stop = new AbortController();
  const abort = (): void => stop.abort(options.signal?.reason);
  if (options.signal?.aborted) abort();
  options.signal?.addEventListener('abort', abort, { once: true });
  const metered = meterSource(source, { ...options, signal: stop.signal });
  const blocks = hashBlocks(metered.chunks);
  const named = (): StoredBlob => {
    const { bytes, sha256 } = metered.total();
    return { key: 'key' in target ? target.key : `${target.hashPrefix}${sha256}`, bytes, sha256 };
  };
  try {
    const first = await blocks.next();
    if (first.done || first.value.body.byteLength < partBytes(0)) {
      return await putWhole(session, named(), first.value ?? emptyBlock(), stop.signal);
    }
    const stagingKey = 'key' in target ? undefined : `${S3_STAGING}${newId()}`;
    const objectKey = session.location.prefix + ('key' in target ? target.key : stagingKey);
    const uploaded = await uploadInParts(
      session,
      { objectKey, inFlight: UPLOADS_IN_FLIGHT, stop },
      partsToUpload(first.value, blocks),
    );
    const blob = named();
    const expectedEtag = multipartEtag(uploaded.parts);
    if (stagingKey === undefined) return { ...uploaded, blob, expectedEtag };
    try {
      const copied = await uploadInParts(
        session,
        { objectKey: session.location.prefix + blob.key, inFlight: COPIES_IN_FLIGHT, stop },
        partsToCopy(`${session.location.bucket}/${objectKey}`, uploaded.parts),
      );
      return { ...copied, blob, expectedEtag };
    } finally {
      await deleteStaged(session, objectKey);
    }
  } catch (error) {
    metered.abandon();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', abort);
    await blocks.return(undefined);
  }
}

async function putWhole(
  session: S3Session,
  blob: StoredBlob,
  { body, md5 }: Block,
  signal: AbortSignal,
): Promise<S3Write> {
  const answer = await session.call(
    `PutObject of ${blob.key}`,
    (s3, options) =>
      s3.putObject(
        {
          Bucket: session.location.bucket,
          Key: session.location.prefix + blob.key,
          Body: body,
          ContentLength: body.byteLength,
          ContentMD5: md5.toString('base64'),
        },
        options,
      ),
    { signal },
  );
  return {
    blob,
    expectedEtag: md5.toString('hex'),
    etag: answer.ETag,
    encryption: answer.ServerSideEncryption,
  };
}

async function* partsToUpload(first: Block, rest: AsyncIterable<Block>): AsyncGenerator<PartToSend, void> {
  yield toUpload(first, 1);
  let number = 1;
  for await (const block of rest) {
    number += 1;
    yield toUpload(block, number);
  }
}

function toUpload({ body, md5 }: Block, number: number): PartToSend {
  const content = { Body: body, ContentLength: body.byteLength, ContentMD5: md5.toString('base64') };
  return {
    number,
    bytes: body.byteLength,
    md5,
    send: async (upload, s3, options) => (await s3.uploadPart({ ...upload, ...content }, options)).ETag,
  };
}

async function* partsToCopy(copySource: string, parts: readonly Part[]): AsyncGenerator<PartToSend, void> {
  let start = 0;
  for (const part of parts) {
    const range = { CopySource: copySource, CopySourceRange: `bytes=${start}-${start + part.bytes - 1}` };
    yield {
      ...part,
      send: async (upload, s3, options) =>
        (await s3.uploadPartCopy({ ...upload, ...range }, options)).CopyPartResult?.ETag,
    };
    start += part.bytes;
  }
}

/** If this fails, collectLeftovers deletes the object later. */
async function deleteStaged(session: S3Session, objectKey: string): Promise<void> {
  await session
    .call(
      `DeleteObject of ${objectKey}`,
      (s3, options) => s3.deleteObject({ Bucket: session.location.bucket, Key: objectKey }, options),
      { attempts: 2 },
    )
    .catch(() => {});
}

function emptyBlock(): Block {
  return { body: Buffer.alloc(0), md5: createHash('md5').digest() };
}

async function* hashBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Block, undefined> {
  let hash = createHash('md5');
  for await (const body of gatherBlocks(chunks, partBytes, (bytes) => hash.update(bytes))) {
    const md5 = hash.digest();
    hash = createHash('md5');
    yield { body, md5 };
  }
}
