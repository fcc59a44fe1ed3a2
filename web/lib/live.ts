// One event stream for the whole page. Events refresh what is shown of their job; while the stream is down the page says
// so and tries again by itself.
import { useSyncExternalStore } from 'react';
import type { ProgressEvent } from '../../src/contract/events.ts';
import { client, queries } from './client.ts';

export type Connection = 'connecting' | 'live' | 'lost';

let connection: Connection = 'connecting';
const listeners = new Set<() => void>();
const progressListeners = new Set<(progress: ProgressEvent) => void>();

function become(next: Connection): void {
  if (connection === next) return;
  // What happened while nobody listened is fetched anew.
  if (next === 'live' && connection === 'lost') void queries.invalidateQueries();
  connection = next;
  for (const listener of listeners) listener();
}

/** Listens until the signal fires. */
export async function listen(signal: AbortSignal): Promise<void> {
  const events = client.events({ signal, onConnection: (isLive) => become(isLive ? 'live' : 'lost') });
  for await (const event of events) {
    if (event.type === 'progress') for (const listener of progressListeners) listener(event.progress);
    else void queries.invalidateQueries({ queryKey: ['job', event.event.jobId] });
    if (event.type !== 'progress') void queries.invalidateQueries({ queryKey: ['jobs'] });
  }
}

export function onProgress(listener: (progress: ProgressEvent) => void): () => void {
  progressListeners.add(listener);
  return () => progressListeners.delete(listener);
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => connection,
  );
}
