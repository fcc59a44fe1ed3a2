// A decaying maximum: each value halves every 3 s.

const HALF_LIFE_MS = 3000;

export class RecentMost {
  #value = 0;
  #atMs = 0;

  note(value: number, nowMs: number): void {
    this.#value = Math.max(value, this.at(nowMs));
    this.#atMs = nowMs;
  }

  at(nowMs: number): number {
    return this.#value * 0.5 ** (Math.max(0, nowMs - this.#atMs) / HALF_LIFE_MS);
  }
}
