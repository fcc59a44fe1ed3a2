// Chooses the blob store that the setting `blobStore` describes.
import { fileURLToPath } from 'node:url';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { BlobStore } from './blob-store.ts';
import { FileSystemStore } from './file-system-store.ts';
import { parseS3Location } from './s3-location.ts';
import { S3Store } from './s3-store.ts';

const POSSIBLE = 'a folder, file:///folder or s3://bucket/prefix?endpoint=…&region=…';
// At least two letters, because one is a Windows drive.
const SCHEME = /^([a-z][a-z0-9+.-]+):/i;

export function openBlobStore(location: string, options: { deadlineMs?: number } = {}): BlobStore {
  const scheme = SCHEME.exec(location)?.[1]?.toLowerCase();
  if (location.trim() === '') throw invalid('an empty text');
  if (scheme === undefined) return new FileSystemStore(location);
  if (scheme === 'file') return new FileSystemStore(folderOf(location));
  if (scheme === 's3') return new S3Store(parseS3Location(location), options);
  // Shows only the scheme: the rest may contain credentials.
  throw invalid(`something that starts with ${scheme}:`);
}

/** The folder of a store in the file system; null for others. */
export function localFolderOf(location: string): string | null {
  const scheme = SCHEME.exec(location)?.[1]?.toLowerCase();
  if (scheme === undefined) return location;
  return scheme === 'file' ? folderOf(location) : null;
}

function folderOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw invalid(`the URL ${url}, which is not a local folder`);
  }
}

function invalid(got: string): RowmillError {
  return new RowmillError(
    'BLOB_STORE_INVALID',
    `expected the setting blobStore to be ${POSSIBLE}, got ${got}`,
  );
}
