// Bounds the number of metric label values that come from data: the first values of each group get their own series,
// and the rest share one. A series never ends, so a value keeps the label it got first.

export const OTHER_LABEL = 'other';
const MAX_LENGTH = 100;

export class LabelBound {
  readonly #max: number;
  readonly #groups = new Map<string, Set<string>>();

  constructor(max: number) {
    this.#max = max;
  }

  labelOf(group: string, value: string): string {
    const label = value.slice(0, MAX_LENGTH);
    let known = this.#groups.get(group);
    if (!known) {
      known = new Set();
      this.#groups.set(group, known);
    }
    if (known.has(label)) return label;
    if (known.size >= this.#max) return OTHER_LABEL;
    known.add(label);
    return label;
  }
}
