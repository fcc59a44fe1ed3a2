// Runs a script in a separate Node process that a test can kill, freeze and thaw. The child reports by printing JSON
// lines with an `event` field; every other line is kept as plain output. This file makes sure that no child survives
// the test file.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFailed } from 'vitest';
import { bundledChild } from './bundled-child.ts';

export interface ChildEvent {
  event: string;
  [field: string]: unknown;
}

export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** A path or a file URL; a `.ts` file that is not bundled (bundle-children.ts) is loaded through jiti. */
  script: string | URL;
  args?: string[];
  /** Added to this process's environment. */
  env?: Record<string, string>;
  cwd?: string;
  nodeArgs?: string[];
}

export interface Child {
  readonly pid: number;
  readonly events: readonly ChildEvent[];
  /** Lines of standard output that are not events. */
  readonly output: readonly string[];
  /** The end of the child's standard error. */
  readonly stderrTail: string;
  /** Resolves after the child has exited and its output was read to the end. */
  readonly exited: Promise<ChildExit>;
  /**
   * The first event of that name, past or future, for which the predicate holds. Rejects as soon as the child exits.
   */
  waitFor(event: string, predicate?: (event: ChildEvent) => boolean, timeoutMs?: number): Promise<ChildEvent>;
  /** Returns false if the child has already exited. */
  kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT' | 'SIGSTOP' | 'SIGCONT'): boolean;
}

const STDERR_TAIL_CHARS = 4000;
/** Number of events in a failure message. */
const LAST_EVENTS = 100;
/** Time to read the last output. The full time is only used if a grandchild keeps the pipes open. */
const LAST_OUTPUT_MS = 10_000;
const PATIENCE_MS = 50_000;
const running = new Set<{ child: ChildProcess; exited: Promise<ChildExit> }>();

// The last resort if a test file ends without killAll.
process.on('exit', () => {
  for (const { child } of running) child.kill('SIGKILL');
});

/** The file to start for a script, and the options of Node that load it. */
export function childFile(script: string): [file: string, loader: string[]] {
  const file = bundledChild(script) ?? script;
  return [file, file.endsWith('.ts') ? ['--import', import.meta.resolve('jiti/register')] : []];
}

export function startChild(options: ChildOptions): Child {
  const { args = [], env, cwd, nodeArgs = [] } = options;
  const script = options.script instanceof URL ? fileURLToPath(options.script) : options.script;
  const [file, loader] = childFile(script);
  const child = spawn(process.execPath, [...nodeArgs, ...loader, file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    cwd,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`expected ${process.execPath} to start, got no process`);

  const events: ChildEvent[] = [];
  const output: string[] = [];
  const watchers = new Set<() => void>();
  let stderrTail = '';
  let exit: ChildExit | undefined;

  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = parseEvent(line);
    if (event) events.push(event);
    else output.push(line);
    for (const look of [...watchers]) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderrTail = (stderrTail + text).slice(-STDERR_TAIL_CHARS);
  });

  const entry = { child, exited: waitForExit(child) };
  running.add(entry);
  const exited = entry.exited.then((ended) => {
    running.delete(entry);
    exit = ended;
    for (const look of [...watchers]) look();
    return ended;
  });

  function describe(problem: string): Error {
    const seen =
      events
        .slice(-LAST_EVENTS)
        .map(({ event }) => event)
        .join(', ') || 'none';
    const stderr = stderrTail.trimEnd() || '(empty)';
    return new Error(`${problem}\nchild: ${script} (pid ${pid})\nevents: ${seen}\nstderr: ${stderr}`);
  }

  tellIfTestFails(() => {
    const ended = exit ? `ended with ${exit.signal ?? `code ${exit.code}`}` : 'was running at the end';
    return describe(`a child of the test that failed ${ended}`).message;
  });

  return {
    pid,
    events,
    output,
    exited,
    get stderrTail() {
      return stderrTail;
    },
    waitFor(name, predicate = () => true, timeoutMs = PATIENCE_MS) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => settle(() => reject(describe(`expected event '${name}' within ${timeoutMs} ms, got none`))),
          timeoutMs,
        );
        let next = 0;

        function settle(act: () => void): void {
          clearTimeout(timer);
          watchers.delete(look);
          act();
        }

        function look(): void {
          for (; next < events.length; next++) {
            const event = events[next]!;
            if (event.event !== name || !predicate(event)) continue;
            settle(() => resolve(event));
            return;
          }
          if (!exit) return;
          const how = exit.signal ?? `code ${exit.code}`;
          settle(() => reject(describe(`expected event '${name}', but the child ended with ${how}`)));
        }

        watchers.add(look);
        look();
      });
    },
    kill: (signal) => child.kill(signal),
  };
}

/** Kills all children that are still running, by pid, and waits until they are gone. */
export async function killAll(): Promise<void> {
  await Promise.all(
    [...running].map(({ child, exited }) => {
      child.kill('SIGKILL');
      return exited;
    }),
  );
}

/** Logs the text if the test fails: in CI nothing else remains of the machine. */
function tellIfTestFails(text: () => string): void {
  try {
    onTestFailed(() => console.error(text()));
  } catch {
    // Called in a hook, outside a test.
  }
}

async function waitForExit(child: ChildProcess): Promise<ChildExit> {
  const closed = once(child, 'close');
  const [code, signal] = await once(child, 'exit');
  // A grandchild that inherited the pipes keeps them open as long as it lives.
  const bound = new Promise((resolve) => setTimeout(resolve, LAST_OUTPUT_MS).unref());
  await Promise.race([closed, bound]);
  return { code, signal };
}

function parseEvent(line: string): ChildEvent | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isEvent(value: unknown): value is ChildEvent {
  return typeof value === 'object' && value !== null && 'event' in value && typeof value.event === 'string';
}
