// Orders of a job's rows, as in URLs: a field or a column, with a minus for the largest first.

/** Larger jobs are sorted only by filters that select few rows through an index. */
export const SORTED_ROWS_MAX = 50_000;

const FIELDS = ['status', 'attempts', 'handlerMs', 'cost', 'error', 'finishedAt'] as const;
export type SortField = (typeof FIELDS)[number] | 'input' | 'result';

export interface ItemSort {
  field: SortField;
  /** Key of a cell of the input or result. */
  column: string | null;
  isDescending: boolean;
}

const MAX_SORT_LENGTH = 300;

/** Null: not an order by a field or a column. */
export function parseItemSort(text: string): ItemSort | null {
  if (text.length > MAX_SORT_LENGTH) return null;
  const isDescending = text.startsWith('-');
  const name = isDescending ? text.slice(1) : text;
  const [, from, column] = /^(input|result):(.+)$/s.exec(name) ?? [];
  if (from !== undefined) return { field: from as 'input' | 'result', column: column!, isDescending };
  const field = FIELDS.find((each) => each === name);
  return field === undefined ? null : { field, column: null, isDescending };
}
