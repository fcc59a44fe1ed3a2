// Names a process so that it can be recognised later: a pid alone is reused by the system, a pid together with the
// moment it started (and the boot it belongs to) is not. A zombie counts as gone: it holds no file, lock or memory.
import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessIdentity {
  pid: number;
  /** Opaque; null where the platform does not tell, and then the pid alone decides. */
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

/** Where pids mean the same processes: this boot of this machine, and the container within it. */
export function processSpace(): string {
  if (process.platform !== 'linux') return hostname();
  try {
    return `${bootId()}:${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return bootId();
  }
}

/** True for zombies and for processes of other users too. */
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
    // ENOENT: it ended just now. Anything else (hidepid, no /proc) means it runs but will not say since when.
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
