// Renews a lease in the database while long work runs. Says when it is lost; the fence of the statements that follow
// decides, this only saves work.
import { waitMs } from './clock.ts';

export interface KeptLease {
  /** Fires when the lease is lost, and with the caller's own signal. */
  signal: AbortSignal;
  stop(): Promise<void>;
}

export function keepLease(options: {
  leaseMs: number;
  /** False: it is lost. An error may pass. */
  renew: () => Promise<boolean>;
  lost: () => Error;
  signal?: AbortSignal | undefined;
}): KeptLease {
  const ended = new AbortController();
  const stopped = new AbortController();
  const forward = (): void => ended.abort(options.signal?.reason);
  if (options.signal?.aborted) forward();
  options.signal?.addEventListener('abort', forward, { once: true });
  const loop = (async () => {
    for (;;) {
      await waitMs(options.leaseMs / 3, stopped.signal);
      if (stopped.signal.aborted) return;
      const held = await options.renew().catch(() => true);
      if (!held && !stopped.signal.aborted) return ended.abort(options.lost());
    }
  })();
  return {
    signal: ended.signal,
    async stop() {
      stopped.abort();
      options.signal?.removeEventListener('abort', forward);
      await loop;
    },
  };
}
