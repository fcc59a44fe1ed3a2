// Which rows are chosen: some by their numbers, or all that fit the filter, however many they are.

export type RowSelection = { kind: 'some'; seqs: ReadonlySet<number> } | { kind: 'all' };

export const NOTHING: RowSelection = { kind: 'some', seqs: new Set() };
/** A request may name so many rows. */
export const MAX_SELECTED = 100_000;

export function isSelected(selection: RowSelection, seq: number): boolean {
  return selection.kind === 'all' || selection.seqs.has(seq);
}

export function isNothing(selection: RowSelection): boolean {
  return selection.kind === 'some' && selection.seqs.size === 0;
}

/** Rows become chosen or not chosen; of all that fit, none can be taken out. */
export function select(selection: RowSelection, seqs: Iterable<number>, isOn: boolean): RowSelection {
  if (selection.kind === 'all') return selection;
  const next = new Set(selection.seqs);
  for (const seq of seqs) {
    if (!isOn) next.delete(seq);
    else if (next.size < MAX_SELECTED) next.add(seq);
  }
  return { kind: 'some', seqs: next };
}

/** Numbers of the rows from one place to another, both included, whichever comes first. */
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
