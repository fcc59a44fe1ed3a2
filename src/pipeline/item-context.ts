// The context that a handler gets besides its input.
import type { Readable } from 'node:stream';
import type { Counter, CounterKey, CountMode } from '../core/items/counter.ts';
import type { ItemFetch } from './item-fetch.ts';
import type { ItemLog } from './item-log.ts';

/** Parameters of a job whose pipeline has no schema for them. */
export type AnyParams = Readonly<Record<string, unknown>>;

/** Types of the inputs of rows that handlers emit, by kind. A helper takes the context of any pipeline. */
// biome-ignore lint/suspicious/noExplicitAny: the compiler takes neither more nor fewer kinds for a subtype.
export type AnyKinds = any;

/** An emitted row of one of the kinds of the pipeline. It starts at the first phase of its kind. */
export type EmittedRow<Kinds = AnyKinds> = {
  [Kind in keyof Kinds & string]: { kind: Kind; key: string; input: Kinds[Kind]; priority?: number };
}[keyof Kinds & string];

/** Context of one handler call. */
export interface ItemContext<
  Previous = unknown,
  Params = AnyParams,
  Strategy = string | undefined,
  Outputs = unknown,
  Kinds = AnyKinds,
> {
  readonly jobId: string;
  /** Position of the item in the job, from 0. */
  readonly seq: number;
  /** Run of the job, from 1; each rerun adds one. */
  readonly generation: number;
  /** Number of this call of the phase for this item, from 1. */
  readonly attempt: number;
  /** Parameters of the job, as parsed by the pipeline's `params` schema. Do not change them. */
  readonly params: Params;
  /** Current strategy of the pipeline. After each `notFound` the next one is used. */
  readonly strategy: Strategy;
  /** The same for every attempt: pass it to services that detect repeated requests. */
  readonly idempotencyKey: string;
  /** Value returned by the previous phase; undefined in the first phase. */
  readonly previous: Previous;
  /** Values returned by all earlier phases, by phase name. Only in phases with `withOutputs: true`. */
  readonly outputs: Outputs;
  /** Aborts on timeout, when the lease is lost, and when the worker stops. */
  readonly signal: AbortSignal;
  /** `log(message, fields)`, `.warn` and `.error`: lines are stored with the outcome of this call, for the trace of the row. */
  readonly log: ItemLog;
  /**
   * The platform's fetch, with the signal and idempotency key of this call. Throws `httpError` for a status that is not ok,
   * so that Retry-After counts, and records method, host, path, status and duration for the trace of the row.
   */
  readonly fetch: ItemFetch;
  /**
   * Adds a row to the job, once per key, such as a URL that was found. It is stored together with the outcome of this
   * item, and discarded if this call fails. The job finishes only after all added rows are finished. With a `kind`,
   * the row starts at the first phase of that kind; otherwise at the first phase of the pipeline.
   */
  emit(row: EmittedRow<Kinds>): void;
  emit(key: string, input: Record<string, unknown>, options?: { priority?: number }): void;
  /**
   * Reports the actual cost of this call, in budget units; several reports add up. Without a report the `cost` of the
   * phase counts.
   */
  cost(amount: number): void;
  /**
   * Adds to the counter values of a (scope, entity), or replaces them. The change is stored with the outcome of this
   * call if it succeeds, and exactly once: retried, lost or rerun calls are not counted twice.
   */
  count<Measure extends string>(
    counter: Counter<Measure>,
    key: CounterKey,
    measured: { readonly [Each in Measure]?: number | undefined },
    mode?: CountMode,
  ): void;
  /** Opens a file in the blob store, such as the image of a row of an image job, by its `blob`. */
  openFile(key: string): Promise<Readable>;
}

/** One item of a `runMany` call. Its own signal also aborts if only its lease is lost. */
export interface BatchItem<
  Input = unknown,
  Previous = unknown,
  Params = AnyParams,
  Strategy = string | undefined,
  Outputs = unknown,
  Kinds = AnyKinds,
> extends ItemContext<Previous, Params, Strategy, Outputs, Kinds> {
  readonly input: Input;
}

/** Context shared by all items of a `runMany` call. */
export interface BatchContext<Params = AnyParams> {
  readonly jobId: string;
  readonly params: Params;
  /** Aborts on timeout, when the worker stops, and when no result of the call can be stored any more. */
  readonly signal: AbortSignal;
  /** Lines are stored with the first row of the call. */
  readonly log: ItemLog;
  /** Without an idempotency key, as rows of a retried call may differ. Requests are recorded with the first row of the call. */
  readonly fetch: ItemFetch;
  /** Reports the actual cost of the whole call, which is divided equally among its items. */
  cost(amount: number): void;
}
