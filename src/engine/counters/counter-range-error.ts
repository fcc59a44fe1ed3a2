// A counter would leave its range: too much was added, or it drifted and is smaller than the contributions to take
// back. A data error: one item fails, and its neighbours do not.

export class CounterRangeError extends Error {
  readonly code = '22003';
}

/** Appended to the error of an item whose earlier contributions cannot be taken back. */
export const STILL_COUNTS =
  'The counter contributions of earlier runs of this row cannot be taken back and still count. Repair the counters with `rowmill counters check --repair`, then reprocess the row.';

/** Throws any other error unchanged. */
export function explainRange(error: Error & { code?: string; constraint?: string; detail?: string }): never {
  const left = error.code === '22003' || (error.code === '23514' && error.constraint?.startsWith('counter_'));
  if (!left) throw error;
  throw new CounterRangeError(
    `a counter would leave the range from 0 to ${Number.MAX_SAFE_INTEGER} (rowmill counters check finds counters that drifted): ${error.detail ?? error.message}`,
    { cause: error },
  );
}
