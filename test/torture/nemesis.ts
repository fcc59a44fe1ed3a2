// The faults of the torture, one or two at a time. Each fault heals itself.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultProxy } from '../support/fault-proxy.ts';
import type { KeptProcess } from './processes.ts';

export interface NemesisOptions {
  random: () => number;
  folder: string;
  processes: KeptProcess[];
  proxies: FaultProxy[];
  postmasterFile: string;
  storePids: number[];
}

export class Nemesis {
  readonly counts: Record<string, number> = {};
  readonly #options: NemesisOptions;
  readonly #faults: [string, () => Promise<void> | void][];

  constructor(options: NemesisOptions) {
    this.#options = options;
    this.#faults = [
      ['kill -9 a process', () => this.#signal('SIGKILL')],
      ['kill -9 a process', () => this.#signal('SIGKILL')],
      ['SIGTERM a process', () => this.#signal('SIGTERM')],
      ['stop a process for longer than its lease', () => this.#freeze(this.#pick(this.#pids()), 4000, 9000)],
      ['step the clock of a process', () => this.#stepClock()],
      ['step the clock of a process', () => this.#stepClock()],
      ['kill -9 the postmaster', () => this.#killPostmaster()],
      ['reset all connections to PostgreSQL', () => void this.#proxy().resetAll()],
      ['swallow the answer of a COMMIT', () => void this.#proxy().cutAfterCommit()],
      ['cut before a COMMIT', () => void this.#proxy().cutBeforeCommit()],
      ['hold all bytes to PostgreSQL', () => this.#blackhole()],
      ['delay PostgreSQL', () => this.#delay()],
      ['stop the object store', () => this.#freeze(this.#pick(options.storePids), 2000, 8000)],
    ];
  }

  /** Runs until `untilMs` of performance.now(). */
  async run(untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      await sleep(1000 + this.#options.random() * 5000);
      const [name, fault] = this.#pick(this.#faults);
      this.counts[name] = (this.counts[name] ?? 0) + 1;
      await fault();
    }
    for (const proxy of this.#options.proxies) {
      proxy.disarm();
      proxy.heal();
      proxy.delay(0);
    }
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#options.random() * list.length)]!;
  }

  #proxy(): FaultProxy {
    return this.#pick(this.#options.proxies);
  }

  #pids(): number[] {
    return this.#options.processes.flatMap((process) => process.pids());
  }

  #signal(signal: 'SIGKILL' | 'SIGTERM'): void {
    kill(this.#pick(this.#pids()), signal);
  }

  async #freeze(pid: number, minMs: number, maxMs: number): Promise<void> {
    kill(pid, 'SIGSTOP');
    await sleep(minMs + this.#options.random() * (maxMs - minMs));
    kill(pid, 'SIGCONT');
  }

  #stepClock(): void {
    const { name } = this.#pick(this.#options.processes);
    const offsetMs = Math.round(
      (this.#options.random() - 0.5) * 2 * this.#pick([5_000, 120_000, 86_400_000]),
    );
    writeFileSync(join(this.#options.folder, `${name}.clock`), String(offsetMs));
  }

  #killPostmaster(): void {
    kill(Number(readFileSync(this.#options.postmasterFile, 'utf8').split('\n')[0]), 'SIGKILL');
  }

  async #blackhole(): Promise<void> {
    const proxy = this.#proxy();
    proxy.blackhole();
    await sleep(2000 + this.#options.random() * 6000);
    proxy.heal();
  }

  async #delay(): Promise<void> {
    const proxy = this.#proxy();
    proxy.delay(20 + this.#options.random() * 100);
    await sleep(5000);
    proxy.delay(0);
  }
}

/** If the process has exited meanwhile, its keeper starts another. */
function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Processes whose command line contains the text. */
export function pidsOf(text: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
      } catch {
        return false;
      }
    });
}
