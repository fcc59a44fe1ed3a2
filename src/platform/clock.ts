// The only module that reads the time. Leases and retries use the database's clock; this one measures durations and
// waits.

export function monotonicMs(): number {
  return performance.now();
}

export function wallClockMs(): number {
  return Date.now();
}

/** Resolves after `ms`, or as soon as the signal fires. */
export function waitMs(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** Yields to the event loop, so that pending I/O runs before the next stretch of work. */
export function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
