// Timers and randomness of the client, which runs in browsers and cannot use src/platform.

/** A random number in [0, 1). */
export function randomFraction(): number {
  return Math.random();
}

/** Resolves after `ms`; rejects with the reason of the signal if it aborts first. */
export function waitMs(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}
