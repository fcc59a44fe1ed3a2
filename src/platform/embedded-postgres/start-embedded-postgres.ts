// Starts the PostgreSQL server that ships with Rowmill, for people who have none. It is a full server in a visible
// folder, on a loopback port, owned by one process at a time. The server outlives a killed owner, and the next owner
// takes it over. A server that dies is restarted by its owner, or by the next process that joins it. The caller
// chooses between this and DATABASE_URL.
import { chooseServerUser } from './choose-server-user.ts';
import { type DataFolder, prepareDataFolder } from './data-folder.ts';
import { DATABASE, folderInUse } from './folder-in-use.ts';
import { acquireFolderLock, type FolderLock } from './folder-lock.ts';
import { createCluster, hasCluster, replaceLostPassword } from './initialize-cluster.ts';
import { installBinaries } from './install-binaries.ts';
import { withLaunchLock } from './launch-lock.ts';
import { launchServer } from './launch-server.ts';
import { readPassword } from './postgres-password.ts';
import { binaryCacheRoots } from './private-folder.ts';
import { type PostgresPackage, resolvePostgresPackage } from './resolve-postgres-package.ts';
import { ServerKeeper } from './server-keeper.ts';
import { findPostmaster } from './server-processes.ts';
import { assertSettings, writeSettings } from './server-settings.ts';
import { stopServer } from './stop-server.ts';
import { withClient } from './with-client.ts';

export interface EmbeddedPostgresOptions {
  /** The folder of the cluster, its log, password and lock. */
  dataDir: string;
  /** Extra PostgreSQL settings. They override the defaults. */
  settings?: Record<string, string>;
  /** Receives progress messages for people. */
  onLog?: (line: string) => void;
  startTimeoutMs?: number;
}

export interface EmbeddedPostgres {
  url: string;
  dataDir: string;
  /** A running server of a killed process was taken over. */
  adopted: boolean;
  /** Resolves when the server is down. May be called more than once. */
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
  const deadlineMs = Date.now() + (options.startTimeoutMs ?? 60_000);
  assertSettings(options.settings ?? {});
  const source = await resolvePostgresPackage(internals.packageDir);
  const folder = await prepareDataFolder(options.dataDir);
  return withLaunchLock(folder, deadlineMs, async () => {
    const outcome = await acquireFolderLock(folder.lockDir);
    if ('heldBy' in outcome) throw await folderInUse(folder, outcome.heldBy);
    try {
      return await openOwned({ folder, source, lock: outcome.lock, deadlineMs, options, internals });
    } catch (error) {
      await outcome.lock.release();
      throw error;
    }
  });
}

interface Opening {
  folder: DataFolder;
  source: PostgresPackage;
  lock: FolderLock;
  deadlineMs: number;
  options: EmbeddedPostgresOptions;
  internals: EmbeddedPostgresInternals;
}

async function openOwned(opening: Opening): Promise<EmbeddedPostgres> {
  const { folder, source, lock, deadlineMs, options, internals } = opening;
  const { onLog = () => {}, settings = {} } = options;
  const user = await chooseServerUser(folder.pgdata);
  const cacheRoots = internals.cacheRoots ?? binaryCacheRoots(folder.root);
  const binaries = await installBinaries(source, cacheRoots, user);
  if (!(await hasCluster(folder, source))) {
    onLog(`creating a PostgreSQL ${source.serverVersion} database in ${folder.root}`);
    await createCluster(folder, binaries, user);
  } else if ((await readPassword(folder.passwordFile)) === null) {
    onLog('the password file is missing, setting a new password');
    const running = await findPostmaster(folder.pgdata);
    if (running !== null) await stopServer(running.identity, folder.pgdata, binaries);
    await replaceLostPassword(folder, binaries, user);
  }
  const password = (await readPassword(folder.passwordFile)) ?? '';

  onLog(`starting PostgreSQL ${source.serverVersion} in ${folder.root}`);
  await writeSettings(folder.settingsFile, settings);
  const launch = { folder, binaries, user, settings, password, deadlineMs, onLog };
  const server = await launchServer(launch);
  await ensureDatabase(server.port, password).catch(async (error: Error) => {
    await stopServer(server.postmaster, folder.pgdata, binaries);
    throw error;
  });
  onLog(`PostgreSQL ${source.serverVersion} is ready on 127.0.0.1:${server.port}`);

  const keeper = new ServerKeeper(launch, server, lock);
  let stopping: Promise<void> | undefined;
  return {
    url: `postgres://rowmill:${password}@127.0.0.1:${server.port}/${DATABASE}`,
    dataDir: folder.root,
    adopted: server.adopted,
    stop: () => {
      stopping ??= keeper.stop();
      return stopping;
    },
  };
}

async function ensureDatabase(port: number, password: string): Promise<void> {
  await withClient({ port, password }, 'postgres', async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  });
}
