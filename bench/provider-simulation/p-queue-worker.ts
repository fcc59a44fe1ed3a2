// The real p-queue in virtual time: it uses the timers and the clock of the simulation, and all pending promises settle
// after each event before the next one fires. A Retry-After pauses the queue; other refused or failed calls are queued
// again with exponential backoff.
import PQueue from 'p-queue';
import type { EventQueue } from './event-queue.ts';
import { backoffMs } from './fixed-workers.ts';
import type { Provider } from './provider.ts';

export interface PQueueSettings {
  concurrency: number;
  perSecond: number;
}

/** Seconds of queued calls, so that the queue is never empty. */
const BACKLOG_S = 2;
/** At most ten intervals per second, with at least one call each, so that the steps are small. */
const INTERVALS_PER_SECOND = 10;

export async function runPQueue(
  events: EventQueue,
  provider: Provider,
  { concurrency, perSecond }: PQueueSettings,
  random: () => number,
  untilMs: number,
): Promise<void> {
  const restore = installVirtualTime(events);
  try {
    const perInterval = Math.max(1, Math.floor(perSecond / INTERVALS_PER_SECOND));
    const queue = new PQueue({
      concurrency,
      intervalCap: perInterval,
      interval: (1000 * perInterval) / perSecond,
    });
    const add = (tries: number): void => {
      void queue.add(async () => {
        const { kind, retryAfterMs } = await new Promise<Parameters<Parameters<Provider['call']>[0]>[0]>(
          (resolve) => provider.call(resolve),
        );
        if (kind === 'ok') return add(0);
        if (retryAfterMs === null) return events.after(backoffMs(tries, random), () => add(tries + 1));
        queue.pause();
        events.after(retryAfterMs, () => queue.start());
        add(tries + 1);
      });
    };
    for (let i = 0; i < concurrency + perSecond * BACKLOG_S; i += 1) add(0);
    await settle();
    while (events.step(untilMs)) {
      const nowMs = events.nowMs;
      while (events.nextMs === nowMs) events.step(untilMs);
      await settle();
    }
    queue.pause();
    queue.clear();
  } finally {
    restore();
  }
}

const realSetImmediate = setImmediate;

/** All resolved promises run before an immediate fires. */
function settle(): Promise<void> {
  return new Promise((resolve) => realSetImmediate(resolve));
}

function installVirtualTime(events: EventQueue): () => void {
  const real = { setTimeout, clearTimeout, setInterval, clearInterval, now: Date.now };
  const stopped = new Set<number>();
  let timers = 0;
  const virtual = {
    setTimeout(fire: () => void, ms: number): number {
      const timer = ++timers;
      events.after(ms, () => stopped.delete(timer) || fire());
      return timer;
    },
    setInterval(fire: () => void, ms: number): number {
      const timer = ++timers;
      const beat = (): void => {
        if (stopped.delete(timer)) return;
        events.after(ms, beat);
        fire();
      };
      events.after(ms, beat);
      return timer;
    },
    clearTimeout: (timer: number) => stopped.add(timer),
    clearInterval: (timer: number) => stopped.add(timer),
  };
  Object.assign(globalThis, virtual);
  Date.now = () => events.nowMs;
  return () => {
    const { now, ...timers } = real;
    Object.assign(globalThis, timers);
    Date.now = now;
  };
}
