// Best, median and worst of each number over all rounds. The best alone hides a bad query plan in one round of three.

export interface Spread {
  best: number;
  median: number;
  worst: number;
}

export type Spreads = Record<string, Spread>;

/** Whether a larger number is better. */
export type Better = 'more' | 'less';

export class Rounds {
  readonly #values = new Map<string, { better: Better; values: number[] }>();

  add(key: string, value: number, better: Better): void {
    const known = this.#values.get(key);
    if (known) known.values.push(value);
    else this.#values.set(key, { better, values: [value] });
  }

  spreads(): Spreads {
    return Object.fromEntries(
      [...this.#values].map(([key, { better, values }]) => [key, spreadOf(values, better)]),
    );
  }
}

export function spreadOf(values: readonly number[], better: Better): Spread {
  const sorted = values.toSorted((a, b) => (better === 'more' ? b - a : a - b));
  return { best: sorted[0]!, median: sorted[Math.floor(sorted.length / 2)]!, worst: sorted.at(-1)! };
}

/**
 * Combines best with best, median with median and worst with worst, because a difference within one round is mostly
 * noise.
 */
export function combine(a: Spread, b: Spread, of: (a: number, b: number) => number): Spread {
  return { best: of(a.best, b.best), median: of(a.median, b.median), worst: of(a.worst, b.worst) };
}

/** One number per key, as in earlier results. */
export function pick(spreads: Spreads | null, which: keyof Spread): Record<string, number> {
  return Object.fromEntries(Object.entries(spreads ?? {}).map(([key, spread]) => [key, spread[which]]));
}
