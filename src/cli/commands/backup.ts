// rowmill backup and rowmill restore: the embedded server and its files as one archive.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { bytesText } from '../../core/health/check-database.ts';
import { type BackupPlace, backUpFolder, restoreFolder } from '../../platform/backup/back-up-folder.ts';
import { localFolderOf } from '../../platform/blob-store/open-blob-store.ts';
import { databaseUrlFromEnvironment } from '../../platform/environment.ts';
import { commandSettings, dataFolder, noDatabase, type ServerOptions } from '../open-server.ts';

type BackupOptions = Pick<ServerOptions, 'dataDir' | 'set'> & { json?: boolean };

export async function backUp(file: string, options: BackupOptions): Promise<number> {
  const place = await placeOf(options);
  if (!existsSync(join(place.dataDir, 'pgdata'))) throw noDatabase(place.dataDir);
  const manifest = await backUpFolder(file, place);
  if (options.json) console.log(JSON.stringify({ file, ...manifest, hasBlobs: place.blobFolder !== null }));
  else {
    console.log(
      `Backed up ${place.dataDir} to ${file}: ${manifest.files} files, ${bytesText(manifest.bytes)}`,
    );
    if (place.blobFolder === null)
      console.log('The blob store is not a folder: back it up with its own tools.');
  }
  return 0;
}

export async function restore(file: string, options: BackupOptions): Promise<number> {
  const place = await placeOf(options);
  const manifest = await restoreFolder(file, place);
  if (options.json) console.log(JSON.stringify({ dataDir: place.dataDir, ...manifest }));
  else {
    console.log(`Restored ${manifest.files} files, ${bytesText(manifest.bytes)}, to ${place.dataDir}`);
    console.log('Check it with: rowmill doctor');
  }
  return 0;
}

async function placeOf(options: BackupOptions): Promise<BackupPlace> {
  if (options.dataDir === undefined && databaseUrlFromEnvironment())
    throw new RowmillError(
      'BACKUP_REFUSED',
      'DATABASE_URL names a server of your own, not the embedded one',
      {
        hint: 'Use pg_dump or base backups for that server (docs/operating.md, Backup), or name a folder with --data-dir.',
      },
    );
  const { blobStore } = await commandSettings(options);
  return { dataDir: dataFolder(options), blobFolder: localFolderOf(blobStore) };
}
