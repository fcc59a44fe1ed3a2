// Differences between the results of two runs, row by row and cell by cell.

/** The parts of a generation diff; `changed` and `same` are its unchanged rows. */
export const ROW_CHANGES = ['fixed', 'newlyFailed', 'newlyNotFound', 'changed', 'added', 'same'] as const;
export type RowChange = (typeof ROW_CHANGES)[number];

export interface CellChange {
  /** Empty for a result that is not an object. */
  column: string;
  change: 'changed' | 'added' | 'removed';
  before: unknown;
  after: unknown;
}

/** Results come from the database, which orders the keys of objects: equal values have equal JSON. */
export function cellChanges(before: unknown, after: unknown): CellChange[] {
  if (isSame(before, after)) return [];
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  if (!old || !now) return [{ column: '', change: 'changed', before, after }];
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].flatMap((column): CellChange[] => {
    const [was, is] = [Object.hasOwn(old, column), Object.hasOwn(now, column)];
    if (was && is && isSame(old[column], now[column])) return [];
    const change = was && is ? 'changed' : is ? 'added' : 'removed';
    return [{ column, change, before: was ? old[column] : null, after: is ? now[column] : null }];
  });
}

/** A row without a result has no cells. */
function fieldsOf(value: unknown): Record<string, unknown> | null {
  if (value === null || value === undefined) return {};
  return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Sums over the rows of one kind of change. */
export interface ChangeTotal {
  change: RowChange;
  rows: number;
  costBefore: number;
  costAfter: number;
  /** Sums of the duration of the last call, over rows that have one. */
  msBefore: number;
  timedBefore: number;
  msAfter: number;
  timedAfter: number;
}

export interface ComparisonTotals {
  rows: Record<RowChange, number>;
  costBefore: number;
  costAfter: number;
  /** Average duration of the last call of a row; null if none was measured. */
  handlerMsBefore: number | null;
  handlerMsAfter: number | null;
}

export function sumTotals(parts: readonly ChangeTotal[]): ComparisonTotals {
  const sum = (pick: (part: ChangeTotal) => number): number =>
    parts.reduce((total, part) => total + pick(part), 0);
  const rows = Object.fromEntries(
    ROW_CHANGES.map((change) => [change, sum((part) => (part.change === change ? part.rows : 0))]),
  ) as Record<RowChange, number>;
  const [timedBefore, timedAfter] = [sum((part) => part.timedBefore), sum((part) => part.timedAfter)];
  return {
    rows,
    costBefore: sum((part) => part.costBefore),
    costAfter: sum((part) => part.costAfter),
    handlerMsBefore: timedBefore === 0 ? null : sum((part) => part.msBefore) / timedBefore,
    handlerMsAfter: timedAfter === 0 ? null : sum((part) => part.msAfter) / timedAfter,
  };
}
