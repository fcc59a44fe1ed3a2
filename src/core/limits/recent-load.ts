// How many processes wanted the machine lately. What the system tells is an average over a minute in which old values fade,
// so that it is still high when the machine has long been quiet: two of them say what came in between.

const MINUTE_MS = 60_000;
/** The system counts every five seconds: less is too little to tell. */
const MIN_BETWEEN_MS = 10_000;

export class RecentLoad {
  #average = 0;
  #atMs: number | null = null;
  #recent = 0;

  /** `average` as the system tells it now. */
  note(average: number, nowMs: number): number {
    if (this.#atMs === null) this.#recent = average;
    else {
      const betweenMs = nowMs - this.#atMs;
      if (betweenMs < MIN_BETWEEN_MS) return this.#recent;
      const left = Math.exp(-betweenMs / MINUTE_MS);
      this.#recent = Math.max(0, (average - this.#average * left) / (1 - left));
    }
    this.#average = average;
    this.#atMs = nowMs;
    return this.#recent;
  }
}
