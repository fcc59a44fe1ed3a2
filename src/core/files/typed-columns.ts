// Records which input columns were numbers, booleans or dates in the original workbook. Collected while the workbook is
// read, stored with each batch, and used when a workbook is written. Pure.
import { type CellType, looksLikeType } from './cell-type.ts';
import type { InputColumn } from '../items/input-column.ts';

export interface ColumnType {
  /** Cell types in the column other than text. */
  types: CellType[];
  /** Text cells that look like a typed value. They stay text. */
  texts?: string[];
}

/** By column key, without columns that contain only text. */
export type ColumnTypes = Record<string, ColumnType>;

const TYPES: Record<string, CellType> = { n: 'number', b: 'boolean', d: 'date', m: 'moment', t: 'time' };
/** A column with more text cells that look typed is written as text. */
const MAX_TEXTS = 200;

interface Gathered {
  key: string;
  types: Set<CellType>;
  texts: Set<string>;
}

export class ColumnTypeGatherer {
  readonly #columns: (Gathered | null)[];
  #latest: ColumnTypes | undefined;
  #isChanged = false;

  /** A null column is not stored. */
  constructor(columns: readonly (InputColumn | null)[]) {
    this.#columns = columns.map(
      (column) => column && { key: column.key, types: new Set<CellType>(), texts: new Set<string>() },
    );
  }

  /** `types`: one character per cell (row-reader.ts); undefined: all cells are text. */
  add(cells: readonly unknown[], types: string | undefined): void {
    for (const [at, column] of this.#columns.entries()) {
      if (column === null) continue;
      const type = types === undefined ? undefined : TYPES[types[at]!];
      if (type !== undefined) {
        if (column.types.has(type)) continue;
        column.types.add(type);
        this.#isChanged = true;
        continue;
      }
      const text = cells[at];
      if (typeof text !== 'string' || text === '' || column.texts.size > MAX_TEXTS) continue;
      const looks = looksLikeType(text);
      // Ignore TRUE and FALSE: one such text cell would otherwise turn all booleans of the column into text.
      if (looks === null || looks === 'boolean' || column.texts.has(text)) continue;
      column.texts.add(text);
      this.#isChanged = true;
    }
  }

  /** Undefined while all cells are text. */
  found(): ColumnTypes | undefined {
    if (!this.#isChanged) return this.#latest;
    this.#isChanged = false;
    const found: [string, ColumnType][] = [];
    for (const column of this.#columns) {
      if (column === null || column.types.size === 0 || column.texts.size > MAX_TEXTS) continue;
      const types = [...column.types].sort();
      const texts = [...column.texts].filter((text) => column.types.has(looksLikeType(text)!)).sort();
      found.push([column.key, { types, ...(texts.length > 0 && { texts }) }]);
    }
    this.#latest = found.length === 0 ? undefined : Object.fromEntries(found);
    return this.#latest;
  }
}

/** Returns a function that gives the original cell type of a text in the column; null: it was text. */
export function typeReader({ types, texts = [] }: ColumnType): (text: string) => CellType | null {
  const known = new Set(types);
  const kept = new Set(texts);
  return (text) => {
    const type = looksLikeType(text);
    return type !== null && known.has(type) && !kept.has(text) ? type : null;
  };
}
