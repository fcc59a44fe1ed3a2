// Counters of a run without a database, summed per scope and entity by the same rules as in the flush.
import { type Contribution, type Counter, contributionKey } from '../core/items/counter.ts';

/** Totals of one scope and entity of a counter at the end of a run. */
export interface CountedEntry {
  counter: string;
  scope: string;
  entity: string;
  /** All measures by name, including those that are 0. */
  measured: Record<string, number>;
}

export class CountedEntries {
  readonly #counters: ReadonlyMap<string, Counter>;
  readonly #entries = new Map<string, CountedEntry>();

  constructor(counters: readonly Counter[]) {
    this.#counters = new Map(counters.map((counter) => [counter.name, counter]));
  }

  add(contribution: Contribution): void {
    const { counter, scope, entity, mode, measured } = contribution;
    const key = contributionKey(contribution);
    const before = mode === 'add' ? this.#entries.get(key)?.measured : undefined;
    const { measures } = this.#counters.get(counter)!;
    const sums = measures.map((measure) => [measure, (before?.[measure] ?? 0) + (measured[measure] ?? 0)]);
    this.#entries.set(key, { counter, scope, entity, measured: Object.fromEntries(sums) });
  }

  /** Sorted by counter, scope and entity. */
  list(): CountedEntry[] {
    return sortEntries([...this.#entries.values()]);
  }
}

export function sortEntries(entries: CountedEntry[]): CountedEntry[] {
  return entries.sort((a, b) => (contributionKey(a) < contributionKey(b) ? -1 : 1));
}
