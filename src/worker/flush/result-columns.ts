// Which keys the results of a job have, as far as this process knows they are written down (store/commands/
// insert-result-columns): almost every result brings nothing new, and finding that out costs a few look-ups.

/** Jobs whose columns are remembered; forgetting one costs an insert that changes nothing. */
const MAX_JOBS = 100;
/** The column of results that are not objects. */
export const WHOLE_RESULT = 'result';

export class ResultColumns {
  readonly #known = new Map<string, Set<string>>();
  readonly #maxColumns: number;

  constructor(maxColumns: number) {
    this.#maxColumns = maxColumns;
  }

  /** The keys of a result if at least one is not known to be stored. */
  unseen(jobId: string, generation: number, value: unknown): string[] | undefined {
    if (value === null || value === undefined) return undefined;
    const known = this.#of(jobId, generation);
    // Past the bound nothing more gets a column, and that is stored too.
    if (known.size > this.#maxColumns) return undefined;
    const names = typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : [WHOLE_RESULT];
    return names.every((name) => known.has(name)) ? undefined : names;
  }

  stored(jobId: string, generation: number, names: readonly string[]): void {
    const known = this.#of(jobId, generation);
    for (const name of names) if (known.size <= this.#maxColumns) known.add(name);
  }

  #of(jobId: string, generation: number): Set<string> {
    const key = `${jobId} ${generation}`;
    let known = this.#known.get(key);
    if (!known) {
      if (this.#known.size >= MAX_JOBS) this.#known.delete(this.#known.keys().next().value!);
      known = new Set();
      this.#known.set(key, known);
    }
    return known;
  }
}
