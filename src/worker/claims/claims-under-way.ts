// Jobs that a claim of this worker is under way for.

export class ClaimsUnderWay {
  /** Claims under way, by job. */
  readonly #counts = new Map<string, number>();
  readonly #waiting: (() => void)[] = [];

  has(jobId: string): boolean {
    return this.#counts.has(jobId);
  }

  begin(jobId: string): void {
    this.#counts.set(jobId, (this.#counts.get(jobId) ?? 0) + 1);
  }

  end(jobId: string): void {
    const left = this.#counts.get(jobId)! - 1;
    if (left > 0) this.#counts.set(jobId, left);
    else this.#counts.delete(jobId);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when one of them has ended. */
  async nextEnd(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
