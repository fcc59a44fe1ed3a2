// Counts concurrent calls per limit, and reports more calls than a limit allows. A worker that gives a call up reuses
// its permit immediately (docs/resources.md), so the next call may arrive before the provider notices the end of that
// one. Only such calls may exceed a limit.

export interface ProviderCall {
  path: string;
  /** Process that calls. */
  worker: string;
  startedMs: number;
  /** When the worker closed the connection of a call that was not answered; null: it did not. */
  givenUpMs: number | null;
}

interface Excess {
  atMs: number;
  calls: ProviderCall[];
}

/** The provider notices within this time that a call was given up: usually within 2 ms. */
const NOTICED_MS = 100;

export class ConcurrentCalls {
  /** Highest number per path. */
  readonly most: Record<string, number> = {};
  /** Times at which a limit was exceeded only by calls that were given up. */
  excused = 0;
  readonly #limitOf: (path: string) => number;
  readonly #running = new Map<string, Set<ProviderCall>>();
  readonly #violations: string[] = [];
  #excesses: Excess[] = [];

  constructor(limitOf: (path: string) => number) {
    this.#limitOf = limitOf;
  }

  start(path: string, worker: string, nowMs: number): ProviderCall {
    const call: ProviderCall = { path, worker, startedMs: nowMs, givenUpMs: null };
    const running = this.#running.get(path) ?? new Set();
    this.#running.set(path, running.add(call));
    this.most[path] = Math.max(this.most[path] ?? 0, running.size);
    if (running.size > this.#limitOf(path)) this.#excesses.push({ atMs: nowMs, calls: [...running] });
    return call;
  }

  end(call: ProviderCall, isGivenUp: boolean, nowMs: number): void {
    this.#running.get(call.path)!.delete(call);
    if (isGivenUp) call.givenUpMs = nowMs;
  }

  violations(nowMs: number): readonly string[] {
    const isDue = ({ atMs }: Excess): boolean => atMs + NOTICED_MS < nowMs;
    for (const excess of this.#excesses.filter(isDue)) this.#judge(excess);
    this.#excesses = this.#excesses.filter((excess) => !isDue(excess));
    return this.#violations;
  }

  #judge({ atMs, calls }: Excess): void {
    const { path } = calls[0]!;
    const limit = this.#limitOf(path);
    const wanted = calls.filter(({ givenUpMs }) => givenUpMs === null || givenUpMs > atMs + NOTICED_MS);
    if (wanted.length <= limit) {
      this.excused += 1;
      return;
    }
    const shown = wanted.map(({ worker, startedMs }) => `${worker} for ${Math.round(atMs - startedMs)} ms`);
    this.#violations.push(`${path}: ${wanted.length} calls instead of ${limit}: process ${shown.join(', ')}`);
  }
}
