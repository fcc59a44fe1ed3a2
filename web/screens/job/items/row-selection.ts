// The selected rows: some by number, or all that match the filter.

export type RowSelection = { kind: 'some'; seqs: ReadonlySet<number> } | { kind: 'all' };

export const NOTHING: RowSelection = { kind: 'some', seqs: new Set() };
/** Largest number of rows in one request. */
export const MAX_SELECTED = 100_000;

export function isSelected(selection: RowSelection, seq: number): boolean {
  return selection.kind === 'all' || selection.seqs.has(seq);
}

export function isNothing(selection: RowSelection): boolean {
  return selection.kind === 'some' && selection.seqs.size === 0;
}

/** Selects or deselects rows. Single rows cannot be removed from "all". */
export function select(selection: RowSelection, seqs: Iterable<number>, isOn: boolean): RowSelection {
  if (selection.kind === 'all') return selection;
  const next = new Set(selection.seqs);
  for (const seq of seqs) {
    if (!isOn) next.delete(seq);
    else if (next.size < MAX_SELECTED) next.add(seq);
  }
  return { kind: 'some', seqs: next };
}

/** Row numbers between two places, inclusive, in either order. */
export function seqsBetween(
  from: number,
  to: number,
  seqAt: (place: number) => number | undefined,
): number[] {
  const seqs: number[] = [];
  const last = Math.max(from, to);
  for (let place = Math.min(from, to); place <= last && seqs.length < MAX_SELECTED; place += 1) {
    const seq = seqAt(place);
    if (seq !== undefined) seqs.push(seq);
  }
  return seqs;
}
