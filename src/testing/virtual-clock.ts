// Time that advances only when nothing else can happen. Handlers under test may sleep on it; the run advances it to
// the next due timer.
import { AsyncLocalStorage } from 'node:async_hooks';

/** One handler call. Its timers show the run that the call waits for virtual time, not for the network. */
export interface CallScope {
  readonly clock: VirtualClock;
  /** Timers of this call that are not due yet. */
  sleeping: number;
  /** Called after `sleeping` changed. */
  onChange(): void;
}

export const currentCall = new AsyncLocalStorage<CallScope>();

interface Timer {
  atMs: number;
  scope: CallScope | undefined;
  fire: () => void;
}

export class VirtualClock {
  #nowMs = 0;
  /** Sorted by time, then by the order in which they were set. */
  readonly #timers: Timer[] = [];

  /** Virtual milliseconds since this clock was created. */
  now(): number {
    return this.#nowMs;
  }

  /** Resolves after `ms` of virtual time; rejects with the reason of the signal if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const stop = (): void => {
        cancel();
        reject(signal!.reason as Error);
      };
      const cancel = this.setTimer(ms, () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      });
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  /** Calls `fire` after `ms` of virtual time. The returned function cancels the timer. */
  setTimer(ms: number, fire: () => void): () => void {
    const timer: Timer = {
      atMs: this.#nowMs + Math.max(ms || 0, 0),
      scope: currentCall.getStore(),
      fire,
    };
    let at = this.#timers.length;
    while (at > 0 && this.#timers[at - 1]!.atMs > timer.atMs) at -= 1;
    this.#timers.splice(at, 0, timer);
    this.#count(timer, 1);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index < 0) return;
      this.#timers.splice(index, 1);
      this.#count(timer, -1);
    };
  }

  /** When the next timer is due; infinite if there is none. */
  get nextMs(): number {
    return this.#timers[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Advances the time and fires due timers in order. Time never moves backwards. */
  moveTo(atMs: number): void {
    while (this.nextMs <= atMs) {
      const timer = this.#timers.shift()!;
      this.#nowMs = Math.max(this.#nowMs, timer.atMs);
      this.#count(timer, -1);
      timer.fire();
    }
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  #count({ scope }: Timer, change: 1 | -1): void {
    if (!scope) return;
    scope.sleeping += change;
    scope.onChange();
  }
}
