// Starts a server on an initialised data folder, and returns only when it answers queries.
//
//   postmaster alive? ── yes ─► wait until it answers ─► adopt it
//        │ no (or it exited while we waited)
//        ▼
//   end leftover backends ─► spawn ─► wait until it answers ─► ours
//        ▲                     │ exited immediately
//        └── pause ◄── transient cause (shared memory still held, port taken); any other cause is an error
import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../core/retries/backoff.ts';
import { awaitReady } from './await-ready.ts';
import { choosePort, readPort } from './choose-port.ts';
import type { ServerUser } from './choose-server-user.ts';
import { type DataFolder, giveToServerUser, nameForServer } from './data-folder.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { PostgresBinaries } from './install-binaries.ts';
import { identifyProcess, isRunning, type ProcessIdentity } from './process-identity.ts';
import { logSize, openLog, readLogTail, rotateLog } from './server-log.ts';
import {
  endLeftoverBackends,
  findPostmaster,
  type Postmaster,
  removeMisleadingPidFile,
} from './server-processes.ts';
import { settingArguments } from './server-settings.ts';
import { stopServer } from './stop-server.ts';

export interface LaunchOptions {
  folder: DataFolder;
  binaries: PostgresBinaries;
  user: ServerUser | null;
  settings: Record<string, string>;
  password: string;
  deadlineMs: number;
  onLog: (line: string) => void;
  /** Uses the previous port, because other processes know the address of the server. */
  keepPort?: boolean;
}

export interface RunningServer {
  postmaster: ProcessIdentity;
  port: number;
  adopted: boolean;
}

const PASSING_CAUSES = [
  /pre-existing shared memory block/,
  /lock file "postmaster\.pid" already exists/,
  /could not create any TCP\/IP sockets|Address already in use/,
];

const BACKOFF = { firstMs: 50, capMs: 1000 };

export async function launchServer(options: LaunchOptions): Promise<RunningServer> {
  const { folder, deadlineMs, onLog } = options;
  for (let failures = 0; ; failures += 1) {
    const found = await findPostmaster(folder.pgdata);
    if (found !== null) {
      if (await adoptServer(found, options))
        return { postmaster: found.identity, port: found.port, adopted: true };
      continue;
    }
    await endLeftoverBackends(folder.pgdata, deadlineMs);
    await removeMisleadingPidFile(folder.pgdata);
    await rotateLog(folder.logFile);
    const logStart = await logSize(folder.logFile);
    const server = await startServer(options);
    if (server !== null) return server;

    const log = await readLogTail(folder.logFile, logStart);
    const passing = PASSING_CAUSES.some((cause) => cause.test(log));
    if (!passing || Date.now() > deadlineMs) throw startFailed('it exited immediately', log, folder);
    onLog('PostgreSQL could not start yet, retrying');
    await delay(backoffMs(BACKOFF, failures));
  }
}

/** False if the server was shutting down. */
async function adoptServer(found: Postmaster, options: LaunchOptions): Promise<boolean> {
  const { folder, user, password, deadlineMs, onLog } = options;
  onLog(`PostgreSQL is already running (process ${found.identity.pid}), taking it over`);
  const readiness = await awaitReady({
    ...{ pgdata: folder.pgdata, user, port: found.port, password, deadlineMs },
    hasExited: () => !isRunning(found.identity),
  });
  if (readiness === 'timed out') {
    throw startFailed(
      `process ${found.identity.pid} holds the data folder and does not respond on port ${found.port}`,
      await readLogTail(folder.logFile, 0),
      folder,
    );
  }
  return readiness === 'ready';
}

/** Null if the process exited before it was ready. Its log has the reason. */
async function startServer(options: LaunchOptions): Promise<RunningServer | null> {
  const { folder, binaries, user, password, deadlineMs } = options;
  await giveToServerUser(folder.pgdata, user);
  const pgdataName = await nameForServer(folder.pgdata, user);
  const port =
    (options.keepPort ? await readPort(folder.portFile) : null) ?? (await choosePort(folder.portFile));
  const args = ['-D', pgdataName, ...settingArguments(options.settings, port)];
  let spawnError: Error | undefined;
  const log = await openLog(folder.logFile);
  const child = spawn(binaries.postgres, args, {
    cwd: folder.pgdata,
    env: binaries.env,
    // In its own session, so that Ctrl-C reaches only this process, which then shuts the server down cleanly.
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log.fd, log.fd],
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  });
  child.on('error', (error) => {
    spawnError = error;
  });
  child.on('exit', (code, signalName) =>
    options.onLog(`PostgreSQL exited (${signalName ?? `code ${code}`})`),
  );
  child.unref();
  await log.close();

  const hasExited = () => spawnError !== undefined || child.exitCode !== null || child.signalCode !== null;
  const stopChild = async () => {
    const identity = child.pid === undefined || hasExited() ? null : identifyProcess(child.pid);
    if (identity !== null) await stopServer(identity, folder.pgdata, binaries);
  };
  const ready = { pgdata: folder.pgdata, user, port, password, hasExited, deadlineMs };
  const readiness = await awaitReady(ready).catch(async (error: Error) => {
    await stopChild();
    throw error;
  });
  if (spawnError !== undefined) throw startFailed(spawnError.message, '', folder);
  if (readiness === 'timed out') {
    await stopChild();
    throw startFailed('it did not respond in time', await readLogTail(folder.logFile, 0), folder);
  }
  const postmaster = child.pid === undefined ? null : identifyProcess(child.pid);
  return readiness === 'exited' || postmaster === null ? null : { postmaster, port, adopted: false };
}

function startFailed(why: string, log: string, folder: DataFolder): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_START_FAILED',
    `expected PostgreSQL to start in ${folder.root}, but ${why}${log === '' ? '' : `. Last lines of its log:\n${log}`}`,
    `Read the whole log in ${folder.logFile}, or set DATABASE_URL to your own PostgreSQL server.`,
  );
}
