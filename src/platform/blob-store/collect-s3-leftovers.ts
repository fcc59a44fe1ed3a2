// Removes leftovers of interrupted writes to S3: staging objects, and incomplete uploads, which cost money and are
// not listed as objects. Uploads of other programs under the same prefix are kept if their keys cannot be ours.
import { isBlobKey } from './blob-key.ts';
import { s3FailureOf } from './s3-failure.ts';
import type { S3Session } from './s3-session.ts';
import { S3_STAGING } from './s3-write.ts';

/** Returns the number of removed leftovers. */
export async function collectS3Leftovers(session: S3Session, before: number): Promise<number> {
  return (await removeStagingObjects(session, before)) + (await abortUploads(session, before));
}

async function removeStagingObjects(session: S3Session, before: number): Promise<number> {
  const { bucket, prefix } = session.location;
  let removed = 0;
  let token: string | undefined;
  do {
    const page = await session.call('ListObjectsV2 of staging', (s3, options) =>
      s3.listObjectsV2({ Bucket: bucket, Prefix: prefix + S3_STAGING, ContinuationToken: token }, options),
    );
    for (const { Key, LastModified } of page.Contents ?? []) {
      if (!Key || !LastModified || LastModified.getTime() > before) continue;
      await session.call(`DeleteObject of ${Key}`, (s3, options) =>
        s3.deleteObject({ Bucket: bucket, Key }, options),
      );
      removed += 1;
    }
    token = page.IsTruncated ? page.NextContinuationToken : undefined;
  } while (token !== undefined);
  return removed;
}

async function abortUploads(session: S3Session, before: number): Promise<number> {
  const { bucket, prefix } = session.location;
  let aborted = 0;
  let after: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined = {};
  while (after) {
    const marker: object = after;
    const page = await session.call('ListMultipartUploads', (s3, options) =>
      s3.listMultipartUploads({ Bucket: bucket, Prefix: prefix, ...marker }, options),
    );
    for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
      if (!Key || !UploadId || !Initiated || Initiated.getTime() > before) continue;
      const key = Key.slice(prefix.length);
      if (!isBlobKey(key.startsWith(S3_STAGING) ? key.slice(S3_STAGING.length) : key)) continue;
      if (await abortUpload(session, Key, UploadId)) aborted += 1;
    }
    after = page.IsTruncated
      ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
      : undefined;
  }
  return aborted;
}

async function abortUpload(session: S3Session, Key: string, UploadId: string): Promise<boolean> {
  try {
    await session.call(`AbortMultipartUpload of ${Key}`, (s3, options) =>
      s3.abortMultipartUpload({ Bucket: session.location.bucket, Key, UploadId }, options),
    );
    return true;
  } catch (error) {
    // Its writer completed it, or another collector aborted it.
    if (s3FailureOf(error)?.code === 'NoSuchUpload') return false;
    throw error;
  }
}
