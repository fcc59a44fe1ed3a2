// Reads the metadata of one S3 object; null if it does not exist. `objectKey` is the whole key, with the prefix of
// the store.
import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import { s3FailureOf } from './s3-failure.ts';
import type { S3Session } from './s3-session.ts';

export async function headS3Object(
  session: S3Session,
  objectKey: string,
  signal?: AbortSignal,
): Promise<HeadObjectCommandOutput | null> {
  try {
    return await session.call(
      `HeadObject of ${objectKey}`,
      (s3, options) => s3.headObject({ Bucket: session.location.bucket, Key: objectKey }, options),
      { signal },
    );
  } catch (error) {
    if (s3FailureOf(error)?.status === 404) return null;
    throw error;
  }
}
