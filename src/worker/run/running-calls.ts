// Calls that hold a slot, and aborted calls that lost their slot but have not returned yet.
import type { PoolStats } from '../../core/limits/pool-stats.ts';
import { type Call, openItemsOf } from './call.ts';
import { DeadlineQueue } from './deadline-queue.ts';
import { RunningBatch } from './running-batch.ts';
import type { RunningItem } from './running-item.ts';
import type { ZombieWatch } from './zombie-watch.ts';

export class RunningCalls {
  /** Calls started so far. */
  #startedCount = 0;
  #timeoutCount = 0;
  readonly #running: DeadlineQueue<Call>;
  /** Aborted, not returned yet. Their slots are free: a handler that never returns must not stop its phase. */
  readonly #zombies = new Set<Call>();
  readonly #zombieWatch: ZombieWatch;
  #idle: (() => void)[] = [];

  /** `onTimeout` receives the items without an outcome, before the call is aborted. */
  constructor(
    timeoutMs: number,
    zombieWatch: ZombieWatch,
    onTimeout: (call: Call, open: RunningItem[]) => void,
  ) {
    this.#zombieWatch = zombieWatch;
    this.#running = new DeadlineQueue(timeoutMs, (call) => {
      this.#timeoutCount += 1;
      onTimeout(call, openItemsOf(call));
    });
  }

  get size(): number {
    return this.#running.size;
  }

  stats(slots: number): Pick<PoolStats, 'idle' | 'busy' | 'error' | 'calls' | 'timeouts'> {
    const { size: busy } = this.#running;
    const { size: error } = this.#zombies;
    return { idle: slots - busy, busy, error, calls: this.#startedCount, timeouts: this.#timeoutCount };
  }

  calls(): Iterable<Call> {
    return this.#running.calls();
  }

  start(call: Call): void {
    this.#running.add(call);
    this.#startedCount += 1;
  }

  /** For a call that returned in time. */
  end(call: Call): void {
    this.#running.remove(call);
    this.#noteIdle();
  }

  /** Takes the slot from a call that has not returned. */
  giveUp(call: Call, reason: Error): void {
    if (call instanceof RunningBatch) call.ended = true;
    this.#running.remove(call);
    this.#zombies.add(call);
    call.abort(reason);
    this.#noteIdle();
    this.#zombieWatch.add();
  }

  returnedLate(call: Call): void {
    if (this.#zombies.delete(call)) this.#zombieWatch.remove();
  }

  /** Resolves when no call is running. */
  async whenIdle(): Promise<void> {
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  clear(): void {
    this.#running.clear();
  }

  #noteIdle(): void {
    if (this.#running.size > 0 || this.#idle.length === 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
