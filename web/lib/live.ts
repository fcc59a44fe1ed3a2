// One event stream for the whole page. Events refresh the queries of their job; the stream reconnects by itself.
import { useEffect, useSyncExternalStore } from 'react';
import type { CounterEvent, ProgressEvent } from '../../src/contract/events.ts';
import { isFinished, type JobState } from '../../src/core/jobs/job-state.ts';
import { client, isSignedOut, noticeSessionEnd, queries } from './client.ts';
import { refresh } from './refresh.ts';
import { sessionEnd } from './session-end.ts';

export type LiveState = 'connecting' | 'live' | 'lost';

let state: LiveState = 'connecting';
const listeners = new Set<() => void>();
const progressListeners = new Set<(progress: ProgressEvent) => void>();
const counterListeners = new Set<(event: CounterEvent) => void>();

function become(next: LiveState): void {
  if (state === next) return;
  // Events were missed while the stream was down: refetch everything. The first stream starts with the next event, so
  // jobs that were fetched, or are being fetched, may have changed before it opened.
  if (next === 'live' && state === 'lost') refresh(queries);
  else if (next === 'live') refreshJobs();
  state = next;
  for (const listener of listeners) listener();
}

/** Refetches unfinished jobs. A finished one that was rerun meanwhile is open again, so progress events follow. */
function refreshJobs(): void {
  refresh(queries, ['jobs']);
  for (const query of queries.getQueryCache().findAll({ queryKey: ['job'] })) {
    if (query.queryKey.length !== 2) continue;
    const again = (): void => {
      const job = query.state.data as { state: JobState } | undefined;
      if (job && !isFinished(job.state)) refresh(queries, query.queryKey);
    };
    if (query.state.data !== undefined) again();
    else
      query.promise?.then(
        () => setTimeout(again),
        () => {},
      );
  }
}

async function listen(signal: AbortSignal): Promise<void> {
  const events = client.events({
    signal,
    onConnect: () => become('live'),
    onReconnect: () => become('lost'),
    onMissed: () => refresh(queries),
  });
  for await (const event of events) {
    if (event.type === 'progress') {
      for (const listener of progressListeners) listener(event);
      continue;
    }
    if (event.type === 'counter') {
      for (const listener of counterListeners) listener(event);
      continue;
    }
    refresh(queries, ['job', event.jobId]);
    refresh(queries, ['jobs']);
  }
}

/** Without a session the stream waits until the user signs in again. */
async function keepListening(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await listen(signal);
    } catch (error) {
      become('lost');
      if (signal.aborted || !isSignedOut(error)) return;
      const isOver = sessionEnd.over();
      noticeSessionEnd(error);
      await isOver;
    }
  }
}

export function useLiveEvents(): void {
  useEffect(() => {
    const stop = new AbortController();
    void keepListening(stop.signal);
    return () => stop.abort();
  }, []);
}

export function useProgress(listener: (progress: ProgressEvent) => void): void {
  useEffect(() => {
    progressListeners.add(listener);
    return () => {
      progressListeners.delete(listener);
    };
  }, [listener]);
}

/** Totals of the user's own counters. */
export function useCounterEvents(listener: (event: CounterEvent) => void): void {
  useEffect(() => {
    counterListeners.add(listener);
    return () => {
      counterListeners.delete(listener);
    };
  }, [listener]);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    () => state,
  );
}
