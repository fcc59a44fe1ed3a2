// Starts the oldest supported PostgreSQL, from the system's packages or POSTGRES_15_BIN, in a temporary folder, with a
// PgBouncer in transaction mode in front if requested.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../support/free-port.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';

const FOLDERS = ['/usr/lib/postgresql/15/bin', '/opt/homebrew/opt/postgresql@15/bin'];
/** Server sessions shared by the clients: fewer than the tests open. */
const POOLED_SESSIONS = 40;
/** PostgreSQL and PgBouncer refuse to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };

export interface OldPostgres {
  url: string;
  /** host:port, the format of TEST_POOLER. */
  pooler: string | null;
  stop(): Promise<void>;
}

export async function startOldPostgres({ pooled }: { pooled: boolean }): Promise<OldPostgres> {
  const bin = process.env.POSTGRES_15_BIN ?? FOLDERS.find((folder) => existsSync(folder));
  if (bin === undefined)
    throw new Error(
      'PostgreSQL 15 is missing. Install postgresql-15, or name its folder in POSTGRES_15_BIN.',
    );
  const user = process.getuid?.() === 0 ? NOBODY : null;
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-postgres-15-'));
  chmodSync(folder, 0o700);
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', 'rowmill', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(bin, 'initdb'), initdb, { ...user, cwd: folder, stdio: 'ignore' });
  const port = await freePort();
  const settings = ['max_connections=300', 'fsync=off', 'unix_socket_directories=', 'log_min_messages=fatal'];
  const server = spawn(
    join(bin, 'postgres'),
    ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const exited = once(server, 'exit');
  const url = `postgres://rowmill:none@127.0.0.1:${port}/postgres`;
  await whenReady(url);
  const pooler = pooled ? await startPgbouncer({ serverUrl: url, sessions: POOLED_SESSIONS }) : null;
  return {
    url,
    pooler: pooler === null ? null : new URL(pooler.through(url)).host,
    async stop() {
      await pooler?.stop();
      server.kill('SIGINT');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function whenReady(connectionString: string): Promise<void> {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    const client = new pg.Client({ connectionString });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
