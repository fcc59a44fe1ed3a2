// A relative time, with the exact time on hover. All of them share one timer.
import { useSyncExternalStore } from 'react';
import { formatExact, formatRelative } from '../lib/format.ts';

const TICK_MS = 10_000;
const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    nowMs = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The current time; renders again every few seconds. */
export function useNow(): number {
  useSyncExternalStore(subscribe, () => nowMs);
  return Date.now();
}

export function RelativeTime({ at }: { at: string }) {
  const now = useNow();
  return (
    <time
      dateTime={at}
      onPointerEnter={({ currentTarget }) => {
        currentTarget.title = formatExact(at);
      }}
      className="whitespace-nowrap"
    >
      {formatRelative(at, now)}
    </time>
  );
}
