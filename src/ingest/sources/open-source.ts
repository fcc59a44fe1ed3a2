// Creates the adapter for a source of the settings file.
import type { Settings } from '../../platform/settings.ts';
import { FolderSource } from './folder-source.ts';
import { createFtpSource } from './ftp-source.ts';
import { S3Source } from './s3-source.ts';
import { createSftpSource } from './sftp-source.ts';
import type { SourceAdapter } from './source-adapter.ts';
import type { SourceConfig } from './source-config.ts';

/** Applies to one reply of a server, and to each part of a file that it sends. */
const DEADLINE_MS = 30_000;

/** The adapter connects on its first poll. */
export function openSource(config: SourceConfig, settings: Settings): SourceAdapter {
  const stableMs = config.stableMs ?? settings.sourceStableMs;
  switch (config.kind) {
    case 'folder':
      return new FolderSource(config, stableMs);
    case 's3':
      return new S3Source(config, DEADLINE_MS);
    case 'ftp':
      return createFtpSource(config, stableMs, DEADLINE_MS);
    case 'sftp':
      return createSftpSource(config, stableMs, DEADLINE_MS);
  }
}
