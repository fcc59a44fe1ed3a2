// Finds the PostgreSQL processes of a data folder. On Linux all of them, postmaster and backends, have the folder as
// their working directory. A reused pid or a copied postmaster.pid does not pass this check.
import { execFileSync } from 'node:child_process';
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import { readFile, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identifyProcess, type ProcessIdentity, pidExists } from './process-identity.ts';

const POLITE_MS = 5_000;

export interface Postmaster {
  identity: ProcessIdentity;
  port: number;
}

/** The live postmaster named in postmaster.pid, or null if the file is absent, incomplete or stale. */
export async function findPostmaster(pgdata: string): Promise<Postmaster | null> {
  const lines = await readPidFile(pgdata);
  const identity = identifyProcess(Number(lines[0]));
  const port = Number(lines[3]);
  if (identity === null || !Number.isInteger(port) || port <= 0) return null;
  if (!servesFolder(identity.pid, pgdata)) return null;
  return { identity, port };
}

/**
 * Removes a postmaster.pid that would keep PostgreSQL from starting forever: its pid now belongs to an unrelated
 * process of the same user (after a reboot), or to a zombie that is never reaped (in a container without an init).
 */
export async function removeMisleadingPidFile(pgdata: string): Promise<void> {
  const pid = Number((await readPidFile(pgdata))[0]);
  if (!pidExists(pid) || (await findPostmaster(pgdata)) !== null || listServerProcesses(pgdata).length > 0)
    return;
  await unlink(join(pgdata, 'postmaster.pid'));
}

/**
 * Busy backends outlive a killed postmaster, and the next server refuses to start while they run. Ends them as
 * pg_terminate_backend does, and after a while as a crash of the server does. Only the holder of the launch lock may
 * call this, while no postmaster is alive.
 */
export async function endLeftoverBackends(pgdata: string, deadlineMs: number): Promise<void> {
  const askedMs = new Map<number, number>();
  for (;;) {
    const pids = listServerProcesses(pgdata);
    if (pids.length === 0 || Date.now() > deadlineMs) return;
    for (const pid of pids) {
      const asked = askedMs.get(pid);
      if (asked === undefined) askedMs.set(pid, Date.now());
      if (asked === undefined) signal(pid, 'SIGTERM');
      else if (Date.now() - asked > POLITE_MS) signal(pid, 'SIGQUIT');
    }
    await delay(10);
  }
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Empty on platforms without /proc. PostgreSQL's own check of its shared memory still applies there. */
function listServerProcesses(pgdata: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => servesFolder(pid, pgdata));
}

function servesFolder(pid: number, pgdata: string): boolean {
  try {
    // Windows does not provide it. PostgreSQL's own lock decides there.
    if (process.platform === 'win32') return true;
    if (programName(pid) !== 'postgres') return false;
    if (process.platform !== 'linux') return true;
    const cwd = statSync(`/proc/${pid}/cwd`);
    const folder = statSync(pgdata);
    return cwd.ino === folder.ino && cwd.dev === folder.dev;
  } catch {
    // It exited meanwhile, is a zombie, or belongs to another user.
    return false;
  }
}

function programName(pid: number): string {
  const path =
    process.platform === 'linux'
      ? readlinkSync(`/proc/${pid}/exe`)
      : execFileSync('ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  // The kernel marks a program whose file was replaced.
  return basename(path).replace(' (deleted)', '');
}

async function readPidFile(pgdata: string): Promise<string[]> {
  try {
    return (await readFile(join(pgdata, 'postmaster.pid'), 'utf8')).split('\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
