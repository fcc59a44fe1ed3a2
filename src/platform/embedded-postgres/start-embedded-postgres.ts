// Starts the PostgreSQL server that Rowmill brings along, for people who have none: a real server, in a folder the
// user can see, on a loopback port, owned by one process at a time. The server outlives a killed owner and is taken
// over by the next one. Choosing between this and DATABASE_URL is the caller's business.
import { readPort } from './choose-port.ts';
import { chooseServerUser } from './choose-server-user.ts';
import { type DataFolder, prepareDataFolder } from './data-folder.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { acquireFolderLock, type FolderLock, type LockHolder } from './folder-lock.ts';
import { createCluster, hasCluster, replaceLostPassword } from './initialize-cluster.ts';
import { installBinaries } from './install-binaries.ts';
import { launchServer } from './launch-server.ts';
import { readPassword } from './postgres-password.ts';
import { binaryCacheRoots } from './private-folder.ts';
import { resolvePostgresPackage } from './resolve-postgres-package.ts';
import { findPostmaster } from './server-processes.ts';
import { assertSettings } from './server-settings.ts';
import { stopServer } from './stop-server.ts';
import { withClient } from './with-client.ts';

const DATABASE = 'rowmill';

export interface EmbeddedPostgresOptions {
  /** The cluster, its log, password and lock all live in this folder. */
  dataDir: string;
  /** Extra PostgreSQL settings; they win over the defaults. */
  settings?: Record<string, string>;
  /** Progress in words for a person. */
  onLog?: (line: string) => void;
  startTimeoutMs?: number;
}

export interface EmbeddedPostgres {
  url: string;
  dataDir: string;
  /** A live server left by a killed process was found and reused. */
  adopted: boolean;
  /** Returns when the server is down. May be called more than once. */
  stop(): Promise<void>;
}

/** For tests of this folder only. */
export interface EmbeddedPostgresInternals {
  packageDir?: string;
  cacheRoots?: string[];
}

export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
  internals: EmbeddedPostgresInternals = {},
): Promise<EmbeddedPostgres> {
  const onLog = options.onLog ?? (() => {});
  const deadlineMs = Date.now() + (options.startTimeoutMs ?? 60_000);
  const settings = options.settings ?? {};
  assertSettings(settings);
  const source = await resolvePostgresPackage(internals.packageDir);
  const { folder, lock } = await openFolder(options.dataDir);
  try {
    const user = await chooseServerUser(folder.pgdata);
    const binaries = await installBinaries(
      source,
      internals.cacheRoots ?? binaryCacheRoots(folder.root),
      user,
    );
    if (!(await hasCluster(folder, source))) {
      onLog(`creating a PostgreSQL ${source.serverVersion} database in ${folder.root}`);
      await createCluster(folder, binaries, user);
    } else if ((await readPassword(folder.passwordFile)) === null) {
      onLog('the password file is gone, setting a new password');
      const running = await findPostmaster(folder.pgdata);
      if (running !== null) await stopServer(running.identity, folder.pgdata, binaries);
      await replaceLostPassword(folder, binaries, user);
    }
    const password = (await readPassword(folder.passwordFile)) ?? '';

    onLog(`starting PostgreSQL ${source.serverVersion} in ${folder.root}`);
    const launch = { folder, binaries, user, settings, password, deadlineMs, onLog };
    const server = await launchServer(launch);
    const stopAndRelease = async () => {
      await stopServer(server.postmaster, folder.pgdata, binaries);
      await lock.release();
    };
    await ensureDatabase(server.port, password).catch(async (error: Error) => {
      await stopAndRelease();
      throw error;
    });
    onLog(`PostgreSQL ${source.serverVersion} is ready on 127.0.0.1:${server.port}`);

    let stopping: Promise<void> | undefined;
    return {
      url: `postgres://rowmill:${password}@127.0.0.1:${server.port}/${DATABASE}`,
      dataDir: folder.root,
      adopted: server.adopted,
      stop: () => {
        stopping ??= stopAndRelease();
        return stopping;
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openFolder(dataDir: string): Promise<{ folder: DataFolder; lock: FolderLock }> {
  try {
    const folder = await prepareDataFolder(dataDir);
    const outcome = await acquireFolderLock(folder.lockDir);
    if ('heldBy' in outcome) throw await folderInUse(folder, outcome.heldBy);
    return { folder, lock: outcome.lock };
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause;
    throw new EmbeddedPostgresError(
      'EMBEDDED_POSTGRES_FOLDER_INVALID',
      `expected to be able to write to the data folder ${dataDir}, got: ${(cause as Error).message}`,
      'Run as the user who made the folder, or choose another data folder.',
      { cause },
    );
  }
}

async function ensureDatabase(port: number, password: string): Promise<void> {
  await withClient({ port, password }, 'postgres', async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  });
}

async function folderInUse(folder: DataFolder, owner: LockHolder): Promise<EmbeddedPostgresError> {
  if (owner.elsewhere) {
    return new EmbeddedPostgresError(
      'EMBEDDED_POSTGRES_FOLDER_IN_USE',
      `expected ${folder.root} to be free, but a process of another container or machine is using its PostgreSQL server`,
      'Give each its own data folder, or set DATABASE_URL to one PostgreSQL server for all.',
    );
  }
  const port = await readPort(folder.portFile);
  const share =
    port === null
      ? ''
      : ` To share its server, set DATABASE_URL=postgres://rowmill@127.0.0.1:${port}/${DATABASE} with the password from ${folder.passwordFile}.`;
  const who = owner.pid === process.pid ? 'this process' : `process ${owner.pid}`;
  return new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_FOLDER_IN_USE',
    `expected ${folder.root} to be free, but ${who} is using its PostgreSQL server`,
    `Stop process ${owner.pid} first, or choose another data folder.${share}`,
  );
}
