// Handler calls that wait until the test lets them pass.

export interface Turnstile {
  /** Waits to be let through; rejects if the call is aborted. */
  pass(signal: AbortSignal): Promise<void>;
  /** Lets this many more calls through, waiting ones first. */
  admit(count: number): void;
}

export function makeTurnstile(): Turnstile {
  const waiting: (() => void)[] = [];
  let places = 0;
  return {
    pass: (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason as Error);
        if (places > 0) {
          places -= 1;
          return resolve();
        }
        const gone = (): void => {
          waiting.splice(waiting.indexOf(enter), 1);
          reject(signal.reason as Error);
        };
        const enter = (): void => {
          signal.removeEventListener('abort', gone);
          resolve();
        };
        signal.addEventListener('abort', gone, { once: true });
        waiting.push(enter);
      }),
    admit(count) {
      places += count;
      for (; places > 0 && waiting.length > 0; places -= 1) waiting.shift()!();
    },
  };
}
