// What a handler gets beside its input. Costly parts are made only when a handler asks for them.
import type { Logger } from '../platform/logger.ts';

export interface ItemContext<Previous = unknown> {
  readonly jobId: string;
  readonly seq: number;
  readonly generation: number;
  /** Counts calls of this phase for this item, from 1. */
  readonly attempt: number;
  /** The same on every attempt: pass it to services that can recognise a repeated request. */
  readonly idempotencyKey: string;
  /** What the phase before returned; undefined in the first. */
  readonly previous: Previous;
  /** Aborts when the time is over, the lease is lost or the worker stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface ItemContextSource {
  jobId: string;
  seq: number;
  generation: number;
  phase: number;
  attempt: number;
  previous: unknown;
  log: Logger;
}

export class RunningContext implements ItemContext {
  readonly #source: ItemContextSource;
  #controller: AbortController | null = null;
  #abortReason: unknown = null;

  constructor(source: ItemContextSource) {
    this.#source = source;
  }

  get jobId(): string {
    return this.#source.jobId;
  }
  get seq(): number {
    return this.#source.seq;
  }
  get generation(): number {
    return this.#source.generation;
  }
  get attempt(): number {
    return this.#source.attempt;
  }
  get previous(): unknown {
    return this.#source.previous;
  }
  get idempotencyKey(): string {
    const { jobId, seq, generation, phase } = this.#source;
    return `${jobId}:${seq}:${generation}:${phase}`;
  }
  get log(): Logger {
    const { log, jobId, seq, attempt } = this.#source;
    return log.child({ jobId, seq, attempt });
  }
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }
}
