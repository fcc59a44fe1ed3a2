// Two PostgreSQL servers, a primary and its synchronous standby, from the embedded package. Nothing restarts them, so a
// test can kill the primary and promote the standby.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { chooseServerUser } from '../../src/platform/embedded-postgres/choose-server-user.ts';
import {
  installBinaries,
  type PostgresBinaries,
} from '../../src/platform/embedded-postgres/install-binaries.ts';
import { binaryCacheRoots } from '../../src/platform/embedded-postgres/private-folder.ts';
import { resolvePostgresPackage } from '../../src/platform/embedded-postgres/resolve-postgres-package.ts';
import { freePort } from './free-port.ts';

const READY_MS = 30_000;
const SETTINGS = [
  'wal_level=replica',
  'hot_standby=on',
  'unix_socket_directories=',
  'log_min_messages=fatal',
];

interface Server {
  process: ChildProcess;
  port: number;
  exited: Promise<unknown>;
}

export interface ReplicatedPostgres {
  /** Both servers, the standby first. */
  url: string;
  /** Runs a statement on one of the two. */
  query(on: 'primary' | 'standby', text: string, values?: unknown[]): Promise<unknown[]>;
  /** kill -9. Resolves when the server is gone. */
  killPrimary(): Promise<void>;
  promoteStandby(): Promise<void>;
  stop(): Promise<void>;
}

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-replicated-'));
  const user = await chooseServerUser(join(folder, 'primary'));
  const source = await resolvePostgresPackage();
  const binaries = await installBinaries(source, binaryCacheRoots(folder), user);
  chmodSync(folder, 0o700);
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = { primary: join(folder, 'primary'), standby: join(folder, 'standby') };
  const options = ['-U', 'rowmill', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  const run = { ...user, cwd: folder, env: binaries.env, stdio: 'ignore' as const };
  execFileSync(binaries.initdb, ['-D', data.primary, ...options], run);
  // The cluster has not run yet, so a copy of its files is a base backup.
  cpSync(data.primary, data.standby, { recursive: true });
  const ports = { primary: await freePort(), standby: await freePort() };
  writeFileSync(join(data.standby, 'standby.signal'), '');
  appendFileSync(
    join(data.standby, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${ports.primary} user=rowmill application_name=standby'\n`,
  );
  chmodSync(data.standby, 0o700);
  if (user !== null) giveTo(data.standby, user);
  const start = (which: 'primary' | 'standby'): Server =>
    startServer(binaries, run, data[which], ports[which]);
  const servers = { primary: start('primary'), standby: start('standby') };
  const query: ReplicatedPostgres['query'] = (on, text, values) => queryPort(ports[on], text, values);
  const stop = async (): Promise<void> => {
    for (const { process: server } of Object.values(servers)) server.kill('SIGKILL');
    await Promise.all(Object.values(servers).map(({ exited }) => exited));
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    await until(async () => (await query('primary', `select 1 from pg_stat_replication`)).length === 1);
    // From here on a commit waits until the standby has it on disk.
    await query('primary', `alter system set synchronous_standby_names = 'standby'`);
    await query('primary', 'select pg_reload_conf()');
    await until(
      async () =>
        (await query('primary', `select 1 from pg_stat_replication where sync_state = 'sync'`)).length === 1,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `postgres://rowmill@127.0.0.1:${ports.standby},127.0.0.1:${ports.primary}/postgres?target_session_attrs=read-write`,
    query,
    async killPrimary() {
      servers.primary.process.kill('SIGKILL');
      await servers.primary.exited;
    },
    async promoteStandby() {
      await query('standby', 'select pg_promote()');
    },
    stop,
  };
}

function startServer(
  { postgres }: PostgresBinaries,
  run: { cwd: string; env: NodeJS.ProcessEnv },
  data: string,
  port: number,
): Server {
  const settings = SETTINGS.flatMap((setting) => ['-c', setting]);
  const server = spawn(postgres, ['-D', data, '-p', String(port), ...settings], {
    ...run,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // The last resort if the test run is interrupted.
  process.once('exit', () => server.kill('SIGKILL'));
  return { process: server, port, exited: once(server, 'exit') };
}

async function queryPort(port: number, text: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: `postgres://rowmill@127.0.0.1:${port}/postgres` });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + READY_MS;
  for (;;) {
    const outcome = await isTrue().catch((error: unknown) => error);
    if (outcome === true) return;
    if (performance.now() > deadlineMs) throw new Error('the servers are not ready', { cause: outcome });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function giveTo(folder: string, { uid, gid }: { uid: number; gid: number }): void {
  for (const name of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
    chownSync(join(folder, name), uid, gid);
}
