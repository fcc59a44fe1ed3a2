// Makes `setTimeout` of handlers under test wait in virtual time. Only calls from a handler are affected; the test,
// its runner and the rest of the process keep their timers.
import { currentCall } from './virtual-clock.ts';

let users = 0;
let original: { setTimeout: typeof setTimeout; clearTimeout: typeof clearTimeout } | null = null;

class VirtualTimeout {
  readonly cancel: () => void;

  constructor(cancel: () => void) {
    this.cancel = cancel;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

/** Returns a function to call after the run. The last of these calls restores the global functions. */
export function useVirtualTimers(): () => void {
  if (users === 0) install();
  users += 1;
  return () => {
    users -= 1;
    if (users === 0 && original) Object.assign(globalThis, original);
  };
}

function install(): void {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  original = real;
  const virtualSetTimeout = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): unknown => {
    const clock = currentCall.getStore()?.clock;
    if (!clock) return real.setTimeout(callback, ms, ...args);
    return new VirtualTimeout(clock.setTimer(ms, () => callback(...args)));
  };
  const virtualClearTimeout = (timer: unknown): void => {
    if (timer instanceof VirtualTimeout) timer.cancel();
    else real.clearTimeout(timer as NodeJS.Timeout);
  };
  Object.assign(globalThis, { setTimeout: virtualSetTimeout, clearTimeout: virtualClearTimeout });
}
