// Which columns of a job's input were numbers, booleans or dates in the workbook that they came from. Gathered while the
// workbook is read, stored with each batch, used when a workbook is written. Pure.
import { type CellType, looksLikeType } from './cell-type.ts';
import type { InputColumn } from '../items/input-column.ts';

export interface ColumnType {
  /** Types of cells of the column that are not text. */
  types: CellType[];
  /** Texts of the column that a typed cell would be read as, too. They stay text. */
  texts?: string[];
}

/** By the key of the column; columns of text are not among them. */
export type ColumnTypes = Record<string, ColumnType>;

const TYPES: Record<string, CellType> = { n: 'number', b: 'boolean', d: 'date', m: 'moment', t: 'time' };
/** A column with more such texts is written as text. */
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

  /** Null: the column is not stored. */
  constructor(columns: readonly (InputColumn | null)[]) {
    this.#columns = columns.map(
      (column) => column && { key: column.key, types: new Set<CellType>(), texts: new Set<string>() },
    );
  }

  /** `types`: one character per cell (row-reader.ts); undefined: all are texts. */
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
      // One text TRUE among booleans would otherwise make texts of them all.
      if (looks === null || looks === 'boolean' || column.texts.has(text)) continue;
      column.texts.add(text);
      this.#isChanged = true;
    }
  }

  /** Undefined while all cells are texts. */
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

/** The type that a text of the column had in its workbook; null: it was a text. */
export function typeReader({ types, texts = [] }: ColumnType): (text: string) => CellType | null {
  const known = new Set(types);
  const kept = new Set(texts);
  return (text) => {
    const type = looksLikeType(text);
    return type !== null && known.has(type) && !kept.has(text) ? type : null;
  };
}
