// Runs one multipart upload: sends a few parts at a time, then completes the upload, which makes the object visible
// atomically. Any failure aborts the upload. The caller supplies the parts.

import { createHash } from 'node:crypto';
import type { CompletedPart, S3 } from '@aws-sdk/client-s3';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../random.ts';
import { headS3Object } from './head-s3-object.ts';
import { s3FailureOf } from './s3-failure.ts';
import type { S3Session } from './s3-session.ts';

/** Sends one part and resolves with its ETag. */
export type SendPart = (
  upload: { Bucket: string; Key: string; UploadId: string; PartNumber: number },
  s3: S3,
  options: { abortSignal: AbortSignal },
) => Promise<string | undefined>;

export interface Part {
  number: number;
  bytes: number;
  md5: Buffer;
}

export interface MultipartTarget {
  objectKey: string;
  /** Parts sent in parallel. Each may be held in memory. */
  inFlight: number;
  /** Aborts the upload. A part that fails triggers it. */
  stop: AbortController;
}

const MIB = 1024 * 1024;
const SMALLEST_PART_BYTES = 8 * MIB;
const LARGEST_PART_BYTES = 1024 * MIB;
const PARTS_PER_SIZE = 1000;
const MAX_PARTS = 10_000;
// Metadata of the object that distinguishes our write from an earlier one.
const WRITE_ID = 'rowmill-write';

/** 8 MiB, doubled after each thousand parts, so that 10,000 parts hold 4 TB. */
export function partBytes(index: number): number {
  return Math.min(LARGEST_PART_BYTES, SMALLEST_PART_BYTES * 2 ** Math.floor(index / PARTS_PER_SIZE));
}

/** The ETag that most stores give an object with these parts. */
export function multipartEtag(parts: readonly { md5: Buffer }[]): string {
  const hash = createHash('md5');
  for (const { md5 } of parts) hash.update(md5);
  return `${hash.digest('hex')}-${parts.length}`;
}

export interface CompletedUpload {
  parts: Part[];
  etag: string | undefined;
  encryption: string | undefined;
}

export async function uploadInParts(
  session: S3Session,
  target: MultipartTarget,
  parts: AsyncIterable<Part & { send: SendPart }>,
): Promise<CompletedUpload> {
  const { objectKey, stop } = target;
  const object = { Bucket: session.location.bucket, Key: objectKey };
  const writeId = newId();
  const created = await session.call(
    `CreateMultipartUpload of ${objectKey}`,
    (s3, options) => s3.createMultipartUpload({ ...object, Metadata: { [WRITE_ID]: writeId } }, options),
    { signal: stop.signal },
  );
  const upload = { ...object, UploadId: created.UploadId! };
  try {
    const sent = await sendParts(session, upload, target, parts);
    const completed = await complete(session, upload, sent, writeId, stop.signal);
    return { parts: sent, ...completed };
  } catch (error) {
    // If the abort fails, collectLeftovers aborts it later.
    await session
      .call(
        `AbortMultipartUpload of ${objectKey}`,
        (s3, options) => s3.abortMultipartUpload(upload, options),
        {
          attempts: 2,
        },
      )
      .catch(() => {});
    throw error;
  }
}

type Upload = { Bucket: string; Key: string; UploadId: string };
type SentPart = Part & { etag: string | undefined };

async function sendParts(
  session: S3Session,
  upload: Upload,
  { inFlight, stop, objectKey }: MultipartTarget,
  parts: AsyncIterable<Part & { send: SendPart }>,
): Promise<SentPart[]> {
  const sent: SentPart[] = [];
  const sending = new Set<Promise<void>>();

  async function sendOne({ number, bytes, md5, send }: Part & { send: SendPart }): Promise<void> {
    try {
      const etag = await session.call(
        `part ${number} of ${objectKey}`,
        (s3, options) => send({ ...upload, PartNumber: number }, s3, options),
        { signal: stop.signal, deadlineFactor: Math.max(1, bytes / SMALLEST_PART_BYTES) },
      );
      sent.push({ number, bytes, md5, etag });
    } catch (error) {
      stop.abort(error);
    }
  }

  try {
    for await (const part of parts) {
      if (part.number > MAX_PARTS) throw tooManyParts();
      while (sending.size >= inFlight) await Promise.race(sending);
      stop.signal.throwIfAborted();
      const running = sendOne(part).finally(() => sending.delete(running));
      sending.add(running);
    }
    await Promise.all(sending);
    stop.signal.throwIfAborted();
  } catch (error) {
    stop.abort(error);
    await Promise.all(sending);
    throw error;
  }
  return sent.sort((a, b) => a.number - b.number);
}

async function complete(
  session: S3Session,
  upload: Upload,
  sent: readonly SentPart[],
  writeId: string,
  signal: AbortSignal,
): Promise<{ etag: string | undefined; encryption: string | undefined }> {
  const { Key } = upload;
  const bytes = sent.reduce((sum, part) => sum + part.bytes, 0);
  const Parts: CompletedPart[] = sent.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await session.call(
        `CompleteMultipartUpload of ${Key}`,
        (s3, options) => s3.completeMultipartUpload({ ...upload, MultipartUpload: { Parts } }, options),
        { signal, attempts: 1 },
      );
      return { etag: answer.ETag, encryption: answer.ServerSideEncryption };
    } catch (error) {
      const failure = s3FailureOf(error);
      if (!failure?.passing && failure?.code !== 'NoSuchUpload') throw error;
      // The store may have completed the upload although its response was lost. A retry would then fail.
      const found = await headS3Object(session, Key, signal);
      if (found?.Metadata?.[WRITE_ID] === writeId && found.ContentLength === bytes) {
        return { etag: found.ETag, encryption: found.ServerSideEncryption };
      }
      if (!failure.passing || attempt >= session.attempts) throw error;
      await session.backOff(attempt, signal);
    }
  }
}

function tooManyParts(): RowmillError {
  return new RowmillError('FILE_TOO_LARGE', `expected the file to fit in ${MAX_PARTS} parts of S3, got more`);
}
