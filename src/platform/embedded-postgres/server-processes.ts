// Looks at the processes that PostgreSQL left or keeps on a data folder. On Linux every one of them, postmaster and
// backends, has the folder as its working directory, which neither a reused pid nor a copied postmaster.pid imitates.
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

/** The live postmaster named by postmaster.pid, or null when the file is absent, incomplete or stale. */
export async function findPostmaster(pgdata: string): Promise<Postmaster | null> {
  const lines = await readPidFile(pgdata);
  const identity = identifyProcess(Number(lines[0]));
  const port = Number(lines[3]);
  if (identity === null || !Number.isInteger(port) || port <= 0) return null;
  if (!servesFolder(identity.pid, pgdata)) return null;
  return { identity, port };
}

/**
 * Removes a postmaster.pid that PostgreSQL itself would respect for ever: its pid now belongs to an unrelated process
 * of the same user (after a reboot), or to a zombie nobody reaps (in a container without an init).
 */
export async function removeMisleadingPidFile(pgdata: string): Promise<void> {
  const pid = Number((await readPidFile(pgdata))[0]);
  if (!pidExists(pid) || (await findPostmaster(pgdata)) !== null || listServerProcesses(pgdata).length > 0)
    return;
  await unlink(join(pgdata, 'postmaster.pid'));
}

/**
 * Backends outlive a killed postmaster while they compute, and the next server refuses to start beside them. Ends
 * them as pg_terminate_backend would, and as a crash of the server would when they do not listen. Only the
 * holder of the launch lock may call this, with no postmaster alive.
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

/** Empty where the platform has no /proc; PostgreSQL's own check of its shared memory remains. */
function listServerProcesses(pgdata: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => servesFolder(pid, pgdata));
}

function servesFolder(pid: number, pgdata: string): boolean {
  try {
    // Windows does not tell; PostgreSQL's own lock decides there.
    if (process.platform === 'win32') return true;
    if (programName(pid) !== 'postgres') return false;
    if (process.platform !== 'linux') return true;
    const cwd = statSync(`/proc/${pid}/cwd`);
    const folder = statSync(pgdata);
    return cwd.ino === folder.ino && cwd.dev === folder.dev;
  } catch {
    // Ended meanwhile, a zombie, or of another user and so not ours.
    return false;
  }
}

function programName(pid: number): string {
  const path =
    process.platform === 'linux'
      ? readlinkSync(`/proc/${pid}/exe`)
      : execFileSync('ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  // The kernel marks a program whose file was replaced since.
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
