// A worker with a set number of slots. A call that is refused or fails keeps its slot and tries again after a wait that
// doubles, with jitter, as the usual retry libraries do; a Retry-After is waited for.
import type { EventQueue } from './event-queue.ts';
import type { Provider } from './provider.ts';

const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;

export function startFixedWorker(
  events: EventQueue,
  provider: Provider,
  slots: number,
  random: () => number,
): void {
  const run = (tries: number): void => {
    provider.call(({ kind, retryAfterMs }) => {
      if (kind === 'ok') return run(0);
      events.after(Math.max(retryAfterMs ?? 0, backoffMs(tries, random)), () => run(tries + 1));
    });
  };
  for (let slot = 0; slot < slots; slot += 1) run(0);
}

export function backoffMs(tries: number, random: () => number): number {
  return Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** tries) * (0.5 + random());
}
