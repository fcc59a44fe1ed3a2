// Which keys the results of a job have, as far as this process knows they are written down (store/commands/
// insert-result-columns): almost every result brings nothing new, and finding that out costs a few look-ups.

/** Jobs whose columns are remembered; forgetting one costs an insert that changes nothing. */
const MAX_JOBS = 100;
/** The column of results that are not objects. */
export const WHOLE_RESULT = 'result';

/** Of one job and generation. */
export class KnownColumns {
  readonly #names = new Set<string>();
  readonly #maxColumns: number;

  constructor(maxColumns: number) {
    this.#maxColumns = maxColumns;
  }

  /** The keys of a result if at least one is not known to be stored. */
  unseen(value: unknown): string[] | undefined {
    if (value === null || value === undefined) return undefined;
    // Past the bound nothing more gets a column, and that is stored too.
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
