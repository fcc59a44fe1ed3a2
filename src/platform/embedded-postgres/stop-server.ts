// Shuts a server down in order: fast shutdown (sessions are ended, a checkpoint is written), and only when that hangs
// an immediate one, after which the next start recovers from the log.
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
      `expected PostgreSQL (process ${postmaster.pid}) to stop, but it still runs`,
      `Look into postgres.log beside ${pgdata}; the data is safe, the next start recovers it.`,
    );
  }
  // After an orderly stop there are none; after kill -9 of the postmaster there may be.
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
    // Windows has no signals; pg_ctl speaks to the server through its own pipe.
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
