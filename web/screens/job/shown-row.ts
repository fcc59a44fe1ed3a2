// The number of a row as people read it: rows count from 1, seqs from 0.

export function shownRow(seq: number): number {
  return seq + 1;
}
