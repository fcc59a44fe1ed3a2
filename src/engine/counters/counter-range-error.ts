// A counter that would leave its range: too much was added to it, or its numbers drifted and hold less than what is to be
// taken back from them. An error of data: one item fails, and its neighbours do not.

export class CounterRangeError extends Error {
  readonly code = '22003';
}

/** What is said of an item whose earlier contributions cannot be taken back, and so go on counting. */
export const STILL_COUNTS =
  'What this row counted in earlier runs cannot be taken back and still counts: repair the counters with `rowmill counters check --repair`, then reprocess the row.';

/** Anything else is thrown on as it is. */
export function explainRange(error: Error & { code?: string; constraint?: string; detail?: string }): never {
  const left = error.code === '22003' || (error.code === '23514' && error.constraint?.startsWith('counter_'));
  if (!left) throw error;
  throw new CounterRangeError(
    `a counter would leave the range from 0 to ${Number.MAX_SAFE_INTEGER} (rowmill counters check finds numbers that drifted): ${error.detail ?? error.message}`,
    { cause: error },
  );
}
