// Parent process: starts a contestant in its own process, with the Node binary that runs the bench, and calls it over
// IPC.
import { type ChildProcess, fork } from 'node:child_process';
import type { Contestant, ContestantOptions, Entry } from './contestant.ts';

export interface Request {
  id: number;
  method: keyof Contestant | 'readCpuMs';
  argument?: number;
}
export interface Reply {
  kind: 'reply';
  id: number;
  error?: string;
  result?: { startedMs: number; endedMs: number; value: number | number[] | null };
}
export interface Progress {
  kind: 'progress';
  finished: number;
  /** Calls of `onFinished`: the commits of a contestant that reports each. */
  reports: number;
  atMs: number;
}

/** One clock for all processes of the machine. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export class ContestantClient {
  finished = 0;
  reports = 0;
  lastFinishedMs = 0;
  onProgress: () => void = () => {};
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  #nextId = 1;
  readonly #exited: Promise<void>;

  constructor(entry: Entry, options: ContestantOptions) {
    const moduleUrl = new URL(`contestants/${entry.file}`, import.meta.url).href;
    const processFile = new URL('contestant-process.ts', import.meta.url);
    // A contestant's logs go to stderr; stdout is for the results.
    this.#child = fork(processFile, [moduleUrl, JSON.stringify(options)], {
      execArgv: process.execArgv,
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', (code) => {
        for (const { reject } of this.#waiting.values()) {
          reject(new Error(`expected the ${entry.key} process to answer, but it exited with code ${code}`));
        }
        this.#waiting.clear();
        resolve();
      });
    });
    this.#child.on('message', (message: Reply | Progress) => {
      if (message.kind === 'progress') {
        this.finished = message.finished;
        this.reports = message.reports;
        this.lastFinishedMs = message.atMs;
        this.onProgress();
        return;
      }
      const waiter = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error === undefined) waiter?.resolve(message);
      else waiter?.reject(new Error(`${entry.key}: ${message.error}`));
    });
  }

  async call(method: Request['method'], argument?: number): Promise<NonNullable<Reply['result']>> {
    const id = this.#nextId++;
    const reply = await new Promise<Reply>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, method, ...(argument === undefined ? {} : { argument }) } satisfies Request);
    });
    return reply.result!;
  }

  /** Closes the contestant's connections and stops its process; kills the process if it does not exit. */
  async end(): Promise<void> {
    if (!this.#child.connected) return this.#exited;
    const force = setTimeout(() => this.#child.kill('SIGKILL'), 20_000);
    await this.call('close').catch(() => {});
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
    clearTimeout(force);
  }
}
