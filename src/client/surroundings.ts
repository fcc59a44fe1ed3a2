// The only place of the client that waits and makes randomness; it runs in browsers, where src/platform does not.

/** From 0 to below 1. */
export function randomFraction(): number {
  return Math.random();
}

/** Resolves after `ms`; rejects with the reason of the signal when that fires first. */
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
