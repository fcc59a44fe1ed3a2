// Kills the processes that failed tests left running, at the end of the run: a worker whose test timed out would use a
// core for hours. All processes of a run have its TEST_REFUSED_SOCKETS in their environment (guard-sockets.ts).
import { readdirSync, readFileSync } from 'node:fs';

const ENDED = ['ENOENT', 'ESRCH'];

/** Only where /proc shows environments: on Linux. Returns the command lines of the killed processes. */
export function killLeftovers(marker = `TEST_REFUSED_SOCKETS=${process.env.TEST_REFUSED_SOCKETS}`): string[] {
  if (process.platform !== 'linux') return [];
  const killed: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(marker)) continue;
      // The test processes of the run end with it.
      if (Number(pid) === process.pid || parentOf(pid) === process.pid) continue;
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      process.kill(Number(pid), 'SIGKILL');
      killed.push(`${pid}: ${command}`);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // It ended meanwhile, or belongs to another user.
      if (!ENDED.includes(code!) && code !== 'EACCES' && code !== 'EPERM') throw error;
    }
  return killed;
}

function parentOf(pid: string): number {
  // The name, in parentheses, may contain anything.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}
