// What a handler gets beside its input.
import type { Readable } from 'node:stream';
import type { Counter, CounterKey, CountMode } from '../core/items/counter.ts';
import type { Logger } from '../platform/logger.ts';

/** Parameters of a job whose pipeline has no schema for them. */
export type AnyParams = Readonly<Record<string, unknown>>;

export interface ItemContext<Previous = unknown, Params = AnyParams, Strategy = string | undefined> {
  readonly jobId: string;
  readonly seq: number;
  readonly generation: number;
  /** Counts calls of this phase for this item, from 1. */
  readonly attempt: number;
  /** Parameters of the job, as the pipeline's `params` schema left them; do not change them. */
  readonly params: Params;
  /** Which of the pipeline's strategies it is the turn of: the next one after each time it was not found. */
  readonly strategy: Strategy;
  /** The same on every attempt: pass it to services that can recognise a repeated request. */
  readonly idempotencyKey: string;
  /** What the phase before returned; undefined in the first. */
  readonly previous: Previous;
  /** Aborts when the time is over, the lease is lost or the worker stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /**
   * Adds a row to the job, once per key: a URL that was found, say. It is stored together with the outcome of this item,
   * and not at all when this call fails. The job is done when the last of them is.
   */
  emit(key: string, input: Record<string, unknown>, options?: { priority?: number }): void;
  /**
   * What this call really cost, in the units of the budget; several calls of it add up. Without it, what the phase says
   * as its `cost` counts.
   */
  cost(amount: number): void;
  /**
   * Feeds a counter of the pipeline: adds to what the (scope, entity) has, or replaces it. It counts when this call ends
   * well, together with its outcome, and once: what is retried, lost or reprocessed is not counted twice.
   */
  count<Measure extends string>(
    counter: Counter<Measure>,
    key: CounterKey,
    measured: { readonly [Each in Measure]?: number | undefined },
    mode?: CountMode,
  ): void;
  /** Bytes from the blob store: an image of an image job, by its `blob`. */
  openFile(key: string): Promise<Readable>;
}

/** One of the items of a call of `runMany`. Its own signal aborts also when its lease alone is lost. */
export interface BatchItem<
  Input = unknown,
  Previous = unknown,
  Params = AnyParams,
  Strategy = string | undefined,
> extends ItemContext<Previous, Params, Strategy> {
  readonly input: Input;
}

/** Fields that the items of a call share. */
export interface BatchContext<Params = AnyParams> {
  readonly jobId: string;
  /** Parameters of the job. */
  readonly params: Params;
  /** Aborts when the time of the call is over, the worker stops, or no answer of it would count any more. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** What the whole call really cost: equal parts of it go to its items. */
  cost(amount: number): void;
}
