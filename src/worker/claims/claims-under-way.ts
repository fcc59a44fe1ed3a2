// Counts this worker's claims in progress, per job.
import { Waiters } from './waiters.ts';

export class ClaimsUnderWay {
  readonly #counts = new Map<string, number>();
  readonly #waiters = new Waiters();

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
    this.#waiters.wakeAll();
  }

  /** Resolves when the next claim finishes. */
  nextEnd(): Promise<void> {
    return this.#waiters.wait();
  }
}
