// Counters and their totals, live. An event carries the new total; rows are refetched soon after, once for many events.
import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { ShownCounter } from '../../../src/contract/counters.ts';
import type { CounterEvent } from '../../../src/contract/events.ts';
import { client, queries } from '../../lib/client.ts';
import { useCounterEvents } from '../../lib/live.ts';

/** Rows of a busy counter are refetched this often. */
const ROWS_EVERY_MS = 1000;
/** The event stream has only the user's own counters, so everyone's are polled. */
export const ALL_EVERY_MS = 5000;

const waiting = new Set<string>();

function refreshRows(counter: string): void {
  if (waiting.has(counter)) return;
  waiting.add(counter);
  setTimeout(() => {
    waiting.delete(counter);
    void queries.invalidateQueries({ queryKey: ['counter', counter] });
  }, ROWS_EVERY_MS);
}

function takeEvent({ counter, total, updatedAt }: CounterEvent): void {
  const known = queries.getQueryData<{ items: ShownCounter[] }>(['counters', false]);
  const before = known?.items.find(({ name }) => name === counter);
  if (before?.updatedAt === updatedAt && isSame(before.total, total)) return;
  if (known && before)
    queries.setQueryData(['counters', false], {
      items: known.items.map((each) => (each.name === counter ? { ...each, total, updatedAt } : each)),
    });
  // A new counter, or one with a new measure.
  if (!before || Object.keys(total).length !== before.measures.length)
    void queries.invalidateQueries({ queryKey: ['counters'] });
  refreshRows(counter);
}

function isSame(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): boolean {
  return Object.entries(b).every(([measure, number]) => a[measure] === number);
}

export function useCounters(all: boolean) {
  useCounterEvents(useCallback(takeEvent, []));
  return useQuery({
    queryKey: ['counters', all],
    queryFn: ({ signal }) => client.listCounters(all ? { all: 'true' } : {}, { signal }),
    refetchInterval: all ? ALL_EVERY_MS : false,
  });
}
