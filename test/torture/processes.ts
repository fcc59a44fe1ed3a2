// The processes of the torture: servers and supervised workers of the built command line, restarted when they exit,
// and listed with their children for the nemesis.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const CLOCK = new URL('step-clock.mjs', import.meta.url).href;

export interface KeptProcess {
  readonly name: string;
  /** Exits that the torture did not cause, as "code/signal". */
  readonly ends: string[];
  pids(): number[];
  stop(): Promise<void>;
}

export interface KeptOptions {
  name: string;
  args: string[];
  folder: string;
  env: Record<string, string>;
}

export function keepRunning({ name, args, folder, env }: KeptOptions): KeptProcess {
  const log = createWriteStream(join(folder, `${name}.log`));
  const ends: string[] = [];
  let isStopping = false;
  let child: ChildProcess;
  let ended: Promise<void>;

  function start(): void {
    child = spawn(process.execPath, ['--import', CLOCK, CLI, ...args], {
      cwd: folder,
      env: { ...process.env, ...env, CLOCK_FILE: join(folder, `${name}.clock`) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout!.pipe(log, { end: false });
    child.stderr!.pipe(log, { end: false });
    ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        resolve();
        if (isStopping) return;
        ends.push(signal ?? String(code));
        setTimeout(start, 500);
      });
    });
  }
  start();

  return {
    name,
    ends,
    pids: () => [child.pid!, ...childrenOf(child.pid!)],
    async stop() {
      isStopping = true;
      child.kill('SIGTERM');
      await ended;
      log.end();
    },
  };
}

function childrenOf(pid: number): number[] {
  try {
    const listed = execFileSync('ps', ['--no-headers', '-o', 'pid', '--ppid', String(pid)], {
      encoding: 'utf8',
    });
    return listed.split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
