// Result columns of each job that this process knows to be stored (store/commands/results/insert-result-columns.ts).
// Almost every result has only known columns, and checking that costs a few lookups.

/** Jobs to remember. Forgetting one costs an insert that changes nothing. */
const MAX_JOBS = 100;
/** Column name for results that are not objects. */
export const WHOLE_RESULT = 'result';

/** Known columns of one job and generation. */
export class KnownColumns {
  readonly #names = new Set<string>();
  readonly #maxColumns: number;

  constructor(maxColumns: number) {
    this.#maxColumns = maxColumns;
  }

  /** All keys of a result if at least one is not known to be stored; else undefined. */
  unseen(value: unknown): string[] | undefined {
    if (value === null || value === undefined) return undefined;
    // More keys than the bound are known: further keys get no column, and the job already records that.
    if (this.#names.size > this.#maxColumns) return undefined;
    const names = typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : [WHOLE_RESULT];
    for (const name of names) if (!this.#names.has(name)) return names;
    return undefined;
  }

  stored(names: readonly string[]): void {
    for (const name of names) if (this.#names.size <= this.#maxColumns) this.#names.add(name);
  }
}

export class ResultColumns {
  readonly #known = new Map<string, KnownColumns>();
  readonly #maxColumns: number;

  constructor(maxColumns: number) {
    this.#maxColumns = maxColumns;
  }

  of(jobId: string, generation: number): KnownColumns {
    const key = `${jobId} ${generation}`;
    let known = this.#known.get(key);
    if (!known) {
      if (this.#known.size >= MAX_JOBS) this.#known.delete(this.#known.keys().next().value!);
      known = new KnownColumns(this.#maxColumns);
      this.#known.set(key, known);
    }
    return known;
  }
}
