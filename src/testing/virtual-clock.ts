// Time that passes only when nothing else can happen. Handlers under test may sleep on it; the run moves it to the next
// moment at which something is due.
import { AsyncLocalStorage } from 'node:async_hooks';

/** One handler call: what it sleeps on tells the run that it waits for virtual time, not for the network. */
export interface CallScope {
  readonly clock: VirtualClock;
  /** Timers of this call that are not due yet. */
  sleeping: number;
  /** The number above has changed. */
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
  /** By time; timers of one moment in the order in which they were set. */
  readonly #timers: Timer[] = [];

  /** Virtual milliseconds since this clock was made. */
  now(): number {
    return this.#nowMs;
  }

  /** Resolves after `ms` of virtual time; rejects with the reason of the signal when that aborts first. */
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

  /** Calls back after `ms` of virtual time, unless the function it returns is called before. */
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

  /** When the next timer is due; infinite without one. */
  get nextMs(): number {
    return this.#timers[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Fires what is due until then, in order. Never goes back. */
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
