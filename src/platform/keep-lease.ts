// Renews a lease in the database during long work, and aborts the work if the lease is lost. The abort only saves work:
// correctness comes from the fence in the statements that follow.
import { waitMs } from './clock.ts';

export interface KeptLease {
  /** Fires when the lease is lost, and when the caller's signal fires. */
  signal: AbortSignal;
  stop(): Promise<void>;
}

export function keepLease(options: {
  leaseMs: number;
  /** Resolves with false if the lease is lost. Errors are treated as transient. */
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
