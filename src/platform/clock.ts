// The only place that reads time. Decisions about leases and retries use the database's clock; this one
// measures durations and waits.

export function monotonicMs(): number {
  return performance.now();
}

export function wallClockMs(): number {
  return Date.now();
}

/** Resolves after `ms`, or at once when the signal fires. Never keeps the process alive by itself. */
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

/** Lets the event loop turn: what waits for the network or the disk gets on before the next stretch of work. */
export function turnOfLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
