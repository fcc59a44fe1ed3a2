// Creates the database cluster on first use, and sets a new password if the password file was lost.
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerUser } from './choose-server-user.ts';
import { type DataFolder, giveToServerUser, nameForServer } from './data-folder.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { PostgresBinaries } from './install-binaries.ts';
import { generatePassword, readPassword, writePassword } from './postgres-password.ts';
import type { PostgresPackage } from './resolve-postgres-package.ts';
import { runProgram } from './run-program.ts';
import { endLeftoverBackends, removeMisleadingPidFile } from './server-processes.ts';
import { settingArguments } from './server-settings.ts';

const STAGING_PREFIX = 'initdb-';
const LEFTOVER_MS = 10_000;

/** True if the folder has a cluster. Throws if it has other files, or a cluster of another major version. */
export async function hasCluster(folder: DataFolder, source: PostgresPackage): Promise<boolean> {
  const entries = await readdir(folder.pgdata).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw unusable(folder, `cannot be read: ${error.message}`, error);
  });
  if (entries.length === 0) return false;
  const version = await readFile(join(folder.pgdata, 'PG_VERSION'), 'utf8').catch((cause: Error) => {
    throw unusable(folder, `has no readable PG_VERSION: ${cause.message}`, cause);
  });
  if (version.trim() === source.majorVersion) return true;
  throw new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_WRONG_VERSION',
    `expected ${folder.pgdata} to be created by PostgreSQL ${source.majorVersion}, got version ${version.trim()}`,
    `Start it with the version of Rowmill that created it and export your data, or move ${folder.root} away to start with an empty folder.`,
  );
}

/** initdb runs in a staging folder that is renamed at the end, so that an interrupted run leaves no cluster. */
export async function createCluster(
  folder: DataFolder,
  binaries: PostgresBinaries,
  user: ServerUser | null,
): Promise<void> {
  let password = await readPassword(folder.passwordFile);
  if (password === null) {
    password = generatePassword();
    await writePassword(folder.passwordFile, password);
  }
  await removeUnfinished(folder);
  const staging = join(folder.root, `${STAGING_PREFIX}${randomUUID()}`);
  try {
    await mkdir(staging, { mode: 0o700 });
    await mkdir(join(staging, 'pgdata'), { mode: 0o700 });
    await writeFile(join(staging, 'password'), password, { mode: 0o600 });
    await giveToServerUser(staging, user);
    const pgdata = await nameForServer(join(staging, 'pgdata'), user);
    const result = await runProgram(
      binaries.initdb,
      [
        ...['-D', pgdata, '--username=rowmill', `--pwfile=${pgdata}/../password`],
        ...['--auth=scram-sha-256', '--encoding=UTF8', '--no-instructions'],
        // Sorts by code point like C, but folds the case of every letter: a search for É finds é.
        ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ],
      { user, env: binaries.env, cwd: join(staging, 'pgdata') },
    );
    if (!result.ok) {
      throw new EmbeddedPostgresError(
        'EMBEDDED_POSTGRES_INIT_FAILED',
        `expected initdb to create a database cluster in ${folder.root}, got: ${result.output}`,
        'Check the free space and permissions of the folder, or set DATABASE_URL to your own PostgreSQL server.',
      );
    }
    await rename(join(staging, 'pgdata'), folder.pgdata);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** The server must be down: only single-user mode works without a password. */
export async function replaceLostPassword(
  folder: DataFolder,
  binaries: PostgresBinaries,
  user: ServerUser | null,
): Promise<void> {
  await endLeftoverBackends(folder.pgdata, Date.now() + LEFTOVER_MS);
  await removeMisleadingPidFile(folder.pgdata);
  await giveToServerUser(folder.pgdata, user);
  const password = generatePassword();
  const result = await runProgram(
    binaries.postgres,
    ['--single', '-D', await nameForServer(folder.pgdata, user), ...settingArguments({}, 5432), 'postgres'],
    {
      user,
      env: binaries.env,
      cwd: folder.pgdata,
      stdin: `ALTER ROLE rowmill PASSWORD '${password}';\n`,
    },
  );
  if (!result.ok || /ERROR|FATAL/.test(result.output)) {
    throw new EmbeddedPostgresError(
      'EMBEDDED_POSTGRES_START_FAILED',
      `expected to set a new password in place of the lost ${folder.passwordFile}, got: ${result.output}`,
      `Restore the file, or move ${folder.root} away to start with an empty folder.`,
    );
  }
  await writePassword(folder.passwordFile, password);
}

async function removeUnfinished(folder: DataFolder): Promise<void> {
  for (const name of await readdir(folder.root)) {
    if (name.startsWith(STAGING_PREFIX)) await rm(join(folder.root, name), { recursive: true, force: true });
  }
  // The folder can only be empty here. Windows does not rename over it.
  await rmdir(folder.pgdata).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

function unusable(folder: DataFolder, why: string, cause: Error): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_FOLDER_INVALID',
    `expected ${folder.pgdata} to be a PostgreSQL data folder of Rowmill, but it ${why}`,
    'Run as the user who created the folder, or choose another data folder.',
    { cause },
  );
}
