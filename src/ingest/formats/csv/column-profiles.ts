// Profiles of the columns, learned from the first rows. A row with an unusual number of cells is kept only if its cells
// look like the other values of their columns. Otherwise a delimiter inside a value has shifted them.
import { type CellKind, cellKind } from './cell-kind.ts';

export interface ColumnProfile {
  /** Empty if nothing is known about the column. */
  kinds: CellKind[];
  /** Cells of other kinds, such as `n/a` among numbers. */
  exceptions: string[];
  /** Whether some cells begin with a blank; null if all are empty. */
  spaced: boolean | null;
}

/** With fewer filled cells than this, text does not prove that the column holds no numbers. */
const MIN_TEXTS = 2;
/** A kind that a smaller share of the cells has is an exception. */
const USUAL_SHARE = 0.1;
const MAX_ROWS = 1000;

/** `rows`: rows of the usual width, without the header. */
export function profileColumns(rows: string[][], columns: number): ColumnProfile[] {
  const seen = rows.slice(0, MAX_ROWS);
  return Array.from({ length: columns }, (_, column) => profileOf(seen.map((row) => row[column] ?? '')));
}

function profileOf(values: string[]): ColumnProfile {
  const byKind = new Map<CellKind, string[]>();
  let filled = 0;
  let spaced: boolean | null = null;
  for (const value of values) {
    const kind = cellKind(value);
    if (kind === 'empty') continue;
    filled += 1;
    spaced = spaced === true || value.startsWith(' ');
    const others = byKind.get(kind);
    if (others === undefined) byKind.set(kind, [value]);
    else others.push(value);
  }
  const kinds: CellKind[] = [];
  const exceptions = new Set<string>();
  for (const [kind, cells] of byKind) {
    if (cells.length >= filled * USUAL_SHARE) kinds.push(kind);
    else for (const cell of cells) exceptions.add(cell.trim());
  }
  if (filled < MIN_TEXTS && kinds.includes('text')) return { kinds: [], exceptions: [], spaced };
  return { kinds, exceptions: [...exceptions], spaced };
}

/** Index of the first cell that does not look like the other values of its column, or -1. */
export function findMisfit(cells: string[], profiles: ColumnProfile[]): number {
  return cells.findIndex((cell, column) => {
    const profile = profiles[column];
    const kind = cellKind(cell);
    if (profile === undefined || kind === 'empty') return false;
    if (profile.spaced === false && cell.startsWith(' ')) return true;
    if (profile.kinds.length === 0) return false;
    return !profile.kinds.includes(kind) && !profile.exceptions.includes(cell.trim());
  });
}
