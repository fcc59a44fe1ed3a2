// Uses the embedded server that another process owns. A server that died is restarted here on the same port and with
// the same settings, so that every process that knows its address continues. The owner still stops it.
import { readPort } from './choose-port.ts';
import { chooseServerUser } from './choose-server-user.ts';
import { type DataFolder, prepareDataFolder } from './data-folder.ts';
import { DATABASE, folderInUse } from './folder-in-use.ts';
import { acquireFolderLock } from './folder-lock.ts';
import { hasCluster } from './initialize-cluster.ts';
import { installBinaries } from './install-binaries.ts';
import { withLaunchLock } from './launch-lock.ts';
import { launchServer } from './launch-server.ts';
import { readPassword } from './postgres-password.ts';
import { binaryCacheRoots } from './private-folder.ts';
import { resolvePostgresPackage } from './resolve-postgres-package.ts';
import { readSettings } from './server-settings.ts';
import { withClient } from './with-client.ts';

export interface JoinOptions {
  dataDir: string;
  /** Receives progress messages for people. */
  onLog?: (line: string) => void;
  startTimeoutMs?: number;
}

/** Returns the URL of the server, or null if its owner is gone and the caller can own the folder. */
export async function joinEmbeddedPostgres(options: JoinOptions): Promise<string | null> {
  const folder = await prepareDataFolder(options.dataDir);
  const deadlineMs = Date.now() + (options.startTimeoutMs ?? 60_000);
  const url = await answeringUrl(folder);
  if (url !== null) return url;
  return withLaunchLock(folder, deadlineMs, async () => {
    const outcome = await acquireFolderLock(folder.lockDir);
    if ('lock' in outcome) {
      await outcome.lock.release();
      return null;
    }
    // Processes of another container are not visible here, so its server may be alive.
    if (outcome.heldBy.elsewhere) throw await folderInUse(folder, outcome.heldBy);
    return restartServer(folder, deadlineMs, options.onLog ?? (() => {}));
  });
}

async function restartServer(
  folder: DataFolder,
  deadlineMs: number,
  onLog: (line: string) => void,
): Promise<string | null> {
  const source = await resolvePostgresPackage();
  const password = await readPassword(folder.passwordFile);
  // The owner is still creating the cluster, or failed to.
  if (password === null || !(await hasCluster(folder, source))) return null;
  const user = await chooseServerUser(folder.pgdata);
  const binaries = await installBinaries(source, binaryCacheRoots(folder.root), user);
  const settings = await readSettings(folder.settingsFile);
  onLog(`PostgreSQL in ${folder.root} does not respond: waiting for it, or restarting it if it has exited`);
  const { port } = await launchServer({
    ...{ folder, binaries, user, settings, password, deadlineMs, onLog },
    keepPort: true,
  });
  return urlOf(port, password);
}

async function answeringUrl(folder: DataFolder): Promise<string | null> {
  const port = await readPort(folder.portFile);
  const password = await readPassword(folder.passwordFile);
  if (port === null || password === null) return null;
  return withClient({ port, password }, DATABASE, async () => urlOf(port, password)).catch(() => null);
}

function urlOf(port: number, password: string): string {
  return `postgres://rowmill:${encodeURIComponent(password)}@127.0.0.1:${port}/${DATABASE}`;
}
