// A PgBouncer in transaction mode in front of the test server, if one is installed.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.ts';
import { testServerUrl } from './test-server-url.ts';

/** On many machines the PATH of ordinary users lacks these folders. */
const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

export function hasPgbouncer(): boolean {
  try {
    execFileSync('pgbouncer', ['--version'], { env: { PATH }, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export interface Pgbouncer {
  /** The same database through PgBouncer. */
  through(url: string): string;
  stop(): Promise<void>;
}

/** With few server sessions, so that clients share them. */
export async function startPgbouncer({ sessions = 3, serverUrl = testServerUrl() } = {}): Promise<Pgbouncer> {
  const { hostname, port, username, password } = new URL(serverUrl);
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-pgbouncer-'));
  const ownPort = await freePort();
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ownPort}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${sessions}`,
    'max_client_conn = 1000',
  ];
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  const user = asWhom();
  if (user !== null) {
    chmodSync(folder, 0o700);
    for (const path of [folder, file]) chownSync(path, user.uid, user.gid);
  }
  const child = spawn('pgbouncer', [file], {
    env: { PATH },
    stdio: ['ignore', 'ignore', 'pipe'],
    ...user,
  });
  await whenReady(child);
  return {
    through(url) {
      const changed = new URL(url);
      changed.hostname = '127.0.0.1';
      changed.port = String(ownPort);
      return changed.href;
    },
    async stop() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PgBouncer refuses to run as root. */
function asWhom(): { uid: number; gid: number } | null {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null;
}

async function whenReady(child: ChildProcess): Promise<void> {
  const said: string[] = [];
  for await (const line of createInterface(child.stderr!)) {
    said.push(line);
    if (line.includes('process up')) {
      child.stderr!.resume();
      return;
    }
  }
  throw new Error(`pgbouncer did not start:\n${said.join('\n')}`);
}
