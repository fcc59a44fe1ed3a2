// The expected outcome of a row depends only on its number: the pipeline, the provider and the checks use this file.
export const CHILD_OFFSET = 1_000_000;
export const SHOPS = 5;
/** Concurrent calls that the resources of the pipeline allow: for many rows, and per shop. */
export const CONCURRENCY = { bulk: 4, shop: 3 };

export type ExpectedStatus = 'DONE' | 'NOT_FOUND' | 'ERROR';

export function expectedStatus(n: number): ExpectedStatus {
  if (n % 17 === 0) return 'NOT_FOUND';
  if (n % 23 === 0) return 'ERROR';
  return 'DONE';
}

export function priceOf(n: number): number {
  return (n * 7919) % 10_007;
}

/** The row that this one emits, if any: only rows of the file emit, and only those that complete. */
export function childOf(n: number): number | null {
  return n < CHILD_OFFSET && n % 40 === 1 && expectedStatus(n) === 'DONE' ? n + CHILD_OFFSET : null;
}

export function rowsOf(first: number, count: number): number[] {
  const rows = Array.from({ length: count }, (_, at) => first + at);
  return [...rows, ...rows.flatMap((n) => childOf(n) ?? [])];
}
