// The rows that the grid shows, for the panel of an open row, which is not a part of the grid.
import { useEffect, useSyncExternalStore } from 'react';
import type { Item } from '../../../lib/job.ts';
import type { RowPages } from './row-pages.ts';

let shown: RowPages<Item> | null = null;
const listeners = new Set<() => void>();

function show(pages: RowPages<Item> | null): void {
  shown = pages;
  for (const listener of listeners) listener();
}

/** Publishes the rows of the grid while it is mounted. */
export function useShowRows(pages: RowPages<Item>): void {
  useEffect(() => {
    show(pages);
    return () => show(null);
  }, [pages]);
}

const watchShown = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
const watchNothing = (): (() => void) => () => {};

/** Null while no grid is mounted. Rerenders when other rows are found. */
export function useShownRows(): RowPages<Item> | null {
  const pages = useSyncExternalStore(watchShown, () => shown);
  useSyncExternalStore(pages?.subscribe ?? watchNothing, () => pages?.version ?? 0);
  return pages;
}
