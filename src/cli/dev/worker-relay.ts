// The worker process of `rowmill dev`. A reload starts a process with the new code; the earlier one returns its queued
// rows, finishes its running calls and exits. A new process is the only way to load every module again.
import type { EngineContext } from '../../engine/engine-context.ts';
import { SupervisedWorker } from '../../worker/process/supervise-worker.ts';

/** The time limit of its phase ends a call, so this only bounds calls without one. */
const FINISH_MS = 24 * 3_600_000;
/** Each process holds connections. Beyond this number, the calls of the oldest get the setting drainMs. */
const MOST_LEAVING = 3;

export interface WorkerRelayOptions {
  context: EngineContext;
  logLevel?: string;
  onCrash: (how: string) => void;
}

export class WorkerRelay {
  readonly #options: WorkerRelayOptions;
  /** In order of their start; the last one has the current code. */
  readonly #workers = new Set<SupervisedWorker>();
  #current: SupervisedWorker | null = null;

  constructor(options: WorkerRelayOptions) {
    this.#options = options;
  }

  /** Resolves when only the new worker starts calls. If it cannot start, the earlier one continues. */
  async replace(modules: string[]): Promise<void> {
    const next = new SupervisedWorker({ ...this.#options, modules });
    this.#workers.add(next);
    try {
      await next.start();
    } catch (error) {
      this.#workers.delete(next);
      throw error;
    }
    const old = this.#current;
    this.#current = next;
    if (!old) return;
    await old.leave(FINISH_MS);
    void old.stop(FINISH_MS).then(() => this.#workers.delete(old));
    const leaving = [...this.#workers].filter((worker) => worker !== next);
    for (const worker of leaving.slice(0, -MOST_LEAVING)) void worker.stop();
  }

  /** True if all workers shut down cleanly and all their outcomes were persisted. */
  async stop(): Promise<boolean> {
    const inOrder = await Promise.all([...this.#workers].map((worker) => worker.stop()));
    return inOrder.every(Boolean);
  }

  kill(): void {
    for (const worker of this.#workers) worker.kill();
  }
}
