// Counts this worker's claims in progress.
import { Waiters } from './waiters.ts';

interface Source {
  jobId: string;
  phase: number;
}

export class ClaimsUnderWay {
  /** Claims in progress, by job and phase. */
  readonly #running = new Map<string, number>();
  /** Claims in progress and loops that wait in `whenFewer`, by job. */
  readonly #expected = new Map<string, number>();
  readonly #waiters = new Waiters();

  /** True if a claim of the job is in progress, or waits for one that is. */
  has(jobId: string): boolean {
    return this.#expected.has(jobId);
  }

  begin(source: Source): void {
    add(this.#running, keyOf(source), 1);
    add(this.#expected, source.jobId, 1);
  }

  end(source: Source): void {
    add(this.#running, keyOf(source), -1);
    add(this.#expected, source.jobId, -1);
    // A loop whose claim has just finished may claim again first: it has unlocked a span.
    setImmediate(() => this.#waiters.wakeAll());
  }

  /**
   * Resolves to true when fewer claims of this phase of the job are in progress than now; to false if none is. For a
   * claim that found nothing because the others have locked all spans: the next one would find nothing either.
   */
  async whenFewer(source: Source): Promise<boolean> {
    const key = keyOf(source);
    const count = this.#running.get(key);
    if (count === undefined) return false;
    add(this.#expected, source.jobId, 1);
    while ((this.#running.get(key) ?? 0) >= count) await this.#waiters.wait();
    add(this.#expected, source.jobId, -1);
    return true;
  }
}

function keyOf({ jobId, phase }: Source): string {
  return `${jobId} ${phase}`;
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
