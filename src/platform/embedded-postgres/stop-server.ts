// Shuts a server down: a fast shutdown, which ends sessions and writes a checkpoint, and if that hangs an immediate
// one, after which the next start recovers from the WAL.
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { PostgresBinaries } from './install-binaries.ts';
import { isRunning, type ProcessIdentity } from './process-identity.ts';
import { runProgram } from './run-program.ts';
import { endLeftoverBackends, signal } from './server-processes.ts';

const FAST_SHUTDOWN_MS = 60_000;
const IMMEDIATE_SHUTDOWN_MS = 10_000;

export async function stopServer(
  postmaster: ProcessIdentity,
  pgdata: string,
  binaries: PostgresBinaries,
): Promise<void> {
  const stopped =
    !isRunning(postmaster) ||
    (await request('fast', postmaster, pgdata, binaries)) ||
    (await request('immediate', postmaster, pgdata, binaries));
  if (!stopped) {
    throw new EmbeddedPostgresError(
      'EMBEDDED_POSTGRES_STOP_FAILED',
      `expected PostgreSQL (process ${postmaster.pid}) to stop, but it is still running`,
      `Read postgres.log beside ${pgdata}. The data is safe: the next start recovers it.`,
    );
  }
  // An orderly stop leaves none, a kill -9 of the postmaster may.
  await endLeftoverBackends(pgdata, Date.now() + IMMEDIATE_SHUTDOWN_MS);
}

async function request(
  mode: 'fast' | 'immediate',
  postmaster: ProcessIdentity,
  pgdata: string,
  binaries: PostgresBinaries,
): Promise<boolean> {
  const deadlineMs = Date.now() + (mode === 'fast' ? FAST_SHUTDOWN_MS : IMMEDIATE_SHUTDOWN_MS);
  if (process.platform === 'win32') {
    // Windows has no signals; pg_ctl uses a pipe of the server.
    const args = ['stop', '-D', pgdata, '-m', mode, '--no-wait'];
    await runProgram(binaries.pgCtl, args, { user: null, env: binaries.env, cwd: pgdata });
  } else {
    signal(postmaster.pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  }
  while (isRunning(postmaster)) {
    if (Date.now() > deadlineMs) return false;
    await delay(10);
  }
  return true;
}
