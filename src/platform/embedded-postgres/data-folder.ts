// The layout of the data folder, and how the server's user reaches PostgreSQL's part of it.
import { chmod, chown, lstat, mkdir, readdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ServerUser } from './choose-server-user.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { runProgram } from './run-program.ts';

export interface DataFolder {
  root: string;
  pgdata: string;
  logFile: string;
  passwordFile: string;
  portFile: string;
  /** Settings of the running server, for a process that restarts it. */
  settingsFile: string;
  lockDir: string;
  launchLockDir: string;
}

export async function prepareDataFolder(dataDir: string): Promise<DataFolder> {
  const root = await prepareRoot(dataDir).catch((cause: unknown) => {
    throw folderInvalid(dataDir, cause);
  });
  return {
    root,
    pgdata: join(root, 'pgdata'),
    logFile: join(root, 'postgres.log'),
    passwordFile: join(root, 'postgres.password'),
    portFile: join(root, 'postgres.port'),
    settingsFile: join(root, 'postgres.settings.json'),
    lockDir: join(root, 'lock'),
    launchLockDir: join(root, 'launch-lock'),
  };
}

async function prepareRoot(dataDir: string): Promise<string> {
  await mkdir(dataDir, { recursive: true });
  // Two spellings of one folder must lead to the same lock.
  const root = await realpath(dataDir);
  // The folder has a password and data, which do not belong in a repository.
  await writeFile(join(root, '.gitignore'), '*\n', { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return root;
}

export function folderInvalid(dataDir: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_FOLDER_INVALID',
    `expected to be able to write to the data folder ${dataDir}, got: ${(cause as Error).message}`,
    'Run as the user who created the folder, or choose another data folder.',
    { cause },
  );
}

/**
 * Returns the name by which a program of the server's user can reach its working directory.
 *
 * If root runs Rowmill, the user of the server often cannot traverse the path to the folder (/root is 0700), although
 * it owns the folder. Node enters the working directory before it changes the user, and on Linux /proc/self/cwd leads
 * a process to its own working directory without traversing the path. PostgreSQL never leaves its data folder and
 * uses paths relative to it, so this name stays valid in every backend. The alternative, moving the data to /var/lib
 * and leaving a pointer behind, would lose the data of a container whose volume is the folder, and keep the data of a
 * folder that the user deleted.
 */
export async function nameForServer(dir: string, user: ServerUser | null): Promise<string> {
  if (user === null) return dir;
  const canEnter = (path: string, cwd: string) =>
    runProgram('/bin/sh', ['-c', 'cd -- "$0"', path], { user, env: { PATH: '/usr/bin:/bin' }, cwd });
  if ((await canEnter(dir, '/')).ok) return dir;
  if (process.platform === 'linux' && (await canEnter('/proc/self/cwd', dir)).ok) return '/proc/self/cwd';
  throw new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_FOLDER_UNREACHABLE',
    `expected user ${user.uid}, which runs PostgreSQL for root, to be able to enter ${dir}`,
    `Allow other users to enter its parent folders (chmod o+x, starting with ${dirname(dirname(dir))}), choose another data folder, or run as an ordinary user.`,
  );
}

/** PostgreSQL must own its folder, but a copy or a backup restored by root belongs to root. */
export async function giveToServerUser(dir: string, user: ServerUser | null): Promise<void> {
  if (user === null || (await lstat(dir)).uid === user.uid) return;
  await chown(dir, user.uid, user.gid);
  await chmod(dir, 0o700);
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    await chown(join(entry.parentPath, entry.name), user.uid, user.gid);
  }
}
