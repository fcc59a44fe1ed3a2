// A worker with a fixed number of slots. A refused or failed call keeps its slot and retries with exponential backoff
// and jitter, as common retry libraries do; it honours Retry-After.
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
