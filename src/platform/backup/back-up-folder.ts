// Backs up and restores the data folder of an embedded server, with its files. The packages of PostgreSQL have no
// pg_dump and no pg_basebackup, and the server keeps too little WAL for a copy while it runs, so it is stopped for the
// copy: a clean shutdown, then both locks of the folder, which keep every other process from starting it.
import { existsSync } from 'node:fs';
import { chmod, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { wallClockMs } from '../clock.ts';
import { prepareDataFolder } from '../embedded-postgres/data-folder.ts';
import { folderInUse } from '../embedded-postgres/folder-in-use.ts';
import { acquireFolderLock } from '../embedded-postgres/folder-lock.ts';
import { withLaunchLock } from '../embedded-postgres/launch-lock.ts';
import { resolvePostgresPackage } from '../embedded-postgres/resolve-postgres-package.ts';
import { findPostmaster } from '../embedded-postgres/server-processes.ts';
import { startEmbeddedPostgres } from '../embedded-postgres/start-embedded-postgres.ts';
import { newId } from '../random.ts';
import { VERSION } from '../version.ts';
import {
  alreadyThere,
  type BackupManifest,
  FORMAT,
  readArchive,
  type StoredPath,
  syncPath,
  writeArchive,
} from './backup-archive.ts';

const LOCK_MS = 60_000;
const SYNCS_AT_ONCE = 32;

export interface BackupPlace {
  dataDir: string;
  /** Folder of the blob store; null if it is not a local folder. */
  blobFolder: string | null;
}

export async function backUpFolder(
  file: string,
  { dataDir, blobFolder }: BackupPlace,
): Promise<BackupManifest> {
  const target = resolve(file);
  if (existsSync(target)) throw alreadyThere(file);
  for (const inside of [dataDir, blobFolder])
    if (inside !== null && `${dirname(target)}/`.startsWith(`${resolve(inside)}/`))
      throw new RowmillError(
        'BACKUP_REFUSED',
        `expected ${file} to be outside of ${inside}, which it copies`,
      );
  // Takes over the server of a killed process, recovers after a crash, and refuses other versions.
  await (await startEmbeddedPostgres({ dataDir })).stop();
  const folder = await prepareDataFolder(dataDir);
  const { majorVersion } = await resolvePostgresPackage();
  return withLaunchLock(folder, wallClockMs() + LOCK_MS, async () => {
    const outcome = await acquireFolderLock(folder.lockDir);
    if ('heldBy' in outcome) throw await folderInUse(folder, outcome.heldBy);
    try {
      if ((await findPostmaster(folder.pgdata)) !== null)
        throw new RowmillError(
          'BACKUP_REFUSED',
          `another process started the server in ${dataDir} meanwhile`,
          {
            hint: 'Stop it, and back up again.',
          },
        );
      const paths: StoredPath[] = [
        { from: folder.passwordFile, path: basename(folder.passwordFile) },
        { from: folder.settingsFile, path: basename(folder.settingsFile) },
        { from: folder.pgdata, path: 'pgdata/' },
        ...(blobFolder === null ? [] : [{ from: blobFolder, path: 'blobs/' }]),
      ];
      return await writeArchive(
        target,
        {
          format: FORMAT,
          rowmill: VERSION,
          postgresMajor: majorVersion,
          createdAt: new Date(wallClockMs()).toISOString(),
          hasBlobs: blobFolder !== null,
        },
        paths.filter(({ from }) => existsSync(from)),
      );
    } finally {
      await outcome.lock.release();
    }
  });
}

/** Writes into new folders beside the targets and renames them at the end: a target is complete or missing. */
export async function restoreFolder(
  file: string,
  { dataDir, blobFolder }: BackupPlace,
): Promise<BackupManifest> {
  await refuseUnlessEmpty(dataDir);
  const blobsInside = blobFolder === null || resolve(blobFolder) === join(resolve(dataDir), 'blobs');
  if (!blobsInside) await refuseUnlessEmpty(blobFolder);
  const suffix = `.restoring-${newId().slice(0, 8)}`;
  const data = `${resolve(dataDir)}${suffix}`;
  const blobs = blobsInside ? join(data, 'blobs') : `${resolve(blobFolder)}${suffix}`;
  const { majorVersion } = await resolvePostgresPackage();
  try {
    const manifest = await readArchive(resolve(file), {
      async onAbout({ format, postgresMajor }) {
        if (format !== FORMAT)
          throw new RowmillError('BACKUP_INVALID', `expected format ${FORMAT} of a backup, got ${format}`, {
            hint: 'Restore it with the version of Rowmill that wrote it.',
          });
        if (postgresMajor !== majorVersion)
          throw new RowmillError(
            'EMBEDDED_POSTGRES_WRONG_VERSION',
            `expected a backup of PostgreSQL ${majorVersion}, got one of PostgreSQL ${postgresMajor}`,
            { hint: 'Restore it with the version of Rowmill that wrote it.' },
          );
        await mkdir(data, { recursive: true, mode: 0o700 });
      },
      async onEntry({ path }, content) {
        const target = targetOf(path, data, blobs);
        if (path.endsWith('/')) return void (await mkdir(target, { recursive: true, mode: 0o700 }));
        await mkdir(dirname(target), { recursive: true, mode: 0o700 });
        await writeNew(target, content);
      },
    });
    if (!blobsInside && existsSync(blobs)) await moveTo(blobs, resolve(blobFolder));
    await moveTo(data, resolve(dataDir));
    return manifest;
  } finally {
    await rm(data, { recursive: true, force: true });
    await rm(blobs, { recursive: true, force: true });
  }
}

async function refuseUnlessEmpty(folder: string): Promise<void> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (entries.length > 0)
    throw new RowmillError('BACKUP_REFUSED', `expected ${folder} to be empty or missing`, {
      hint: 'Move it away first, or restore into another folder with --data-dir. A restore never replaces data.',
    });
}

/** Refuses paths that leave the folder: an archive may come from anywhere. */
function targetOf(path: string, data: string, blobs: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  const isKnown =
    parts[0] === 'pgdata' ||
    parts[0] === 'blobs' ||
    path === 'postgres.password' ||
    path === 'postgres.settings.json';
  if (!isKnown || path.startsWith('/') || parts.some((part) => part === '..' || /[\\\0]/.test(part)))
    throw new Error(`it has the unexpected path ${JSON.stringify(path)}`);
  return parts[0] === 'blobs' ? join(blobs, ...parts.slice(1)) : join(data, ...parts);
}

async function writeNew(path: string, content: AsyncIterable<Buffer>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of content) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}

/** Only after the archive turned out to be complete: syncing a thousand files one by one takes longer than all else. */
async function syncAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name));
  for (let at = 0; at < paths.length; at += SYNCS_AT_ONCE)
    await Promise.all(paths.slice(at, at + SYNCS_AT_ONCE).map(syncPath));
}

async function moveTo(from: string, to: string): Promise<void> {
  await syncAll(from);
  await rmdir(to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(from, to);
  await chmod(to, 0o700);
  await syncPath(dirname(to));
}
