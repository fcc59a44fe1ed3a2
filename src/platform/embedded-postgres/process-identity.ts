// Identifies a process so that it can be recognised later. The system reuses pids, so the identity includes the start
// time and the boot id. A zombie counts as dead: it holds no file, lock or memory.
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessIdentity {
  pid: number;
  /** Opaque. Null if the platform does not provide it; the pid alone then identifies the process. */
  startedAt: string | null;
}

export function identifyProcess(pid: number): ProcessIdentity | null {
  if (!pidExists(pid)) return null;
  if (process.platform === 'linux') return identifyThroughProc(pid);
  if (process.platform === 'win32') return { pid, startedAt: null };
  return identifyThroughPs(pid);
}

export function isRunning(identity: ProcessIdentity): boolean {
  const current = identifyProcess(identity.pid);
  if (current === null) return false;
  if (current.startedAt === null || identity.startedAt === null) return true;
  return current.startedAt === identity.startedAt;
}

/** The scope in which pids identify the same processes: this boot of this machine, and its container. */
export function processSpace(): string {
  if (process.platform !== 'linux') return hostname();
  try {
    return `${bootId()}:${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return bootId();
  }
}

/** Also true for zombies and for processes of other users. */
export function pidExists(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function identifyThroughProc(pid: number): ProcessIdentity | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    // ENOENT: it exited just now. Other errors (hidepid, no /proc) mean that it runs, but its start time is unknown.
    const ended = ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '');
    return ended && !pidExists(pid) ? null : { pid, startedAt: null };
  }
  // The second field is the command in parentheses and may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  if (state === 'Z' || state === 'X') return null;
  const startTicks = fields[19];
  return { pid, startedAt: `${bootId()}:${startTicks}` };
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function identifyThroughPs(pid: number): ProcessIdentity | null {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    const [state = '', ...startedAt] = line.split(/\s+/);
    return state === '' || state.startsWith('Z') ? null : { pid, startedAt: startedAt.join(' ') };
  } catch {
    return pidExists(pid) ? { pid, startedAt: null } : null;
  }
}
