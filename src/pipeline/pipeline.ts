// A checked pipeline and its phases, as every other room reads them.
import type { JobOutput } from '../core/files/output-format.ts';
import type { Counter } from '../core/items/counter.ts';
import type { Failure, Verdict } from '../core/items/outcome.ts';
import type { UnstorablePolicy } from '../core/items/storable-json.ts';
import type { DeclaredLimits } from '../core/limits/resource-limits.ts';
import type { RetryRule } from '../core/retries/retry-policy.ts';
import type { InputSchema } from './input-schema.ts';
import type { AnyParams, BatchContext, BatchItem, ItemContext } from './item-context.ts';
import type { ResourceUse } from './phase-resources.ts';
import type { PipelineCallbacks } from './pipeline-callbacks.ts';

/** Marks a checked definition. A mark instead of a class: the definition may come from another copy of this module. */
export const PIPELINE = Symbol.for('rowmill.pipeline');

/** Exists for the compiler only. */
declare const TYPES: unique symbol;

/**
 * A checked definition. `Row` and `Params` are what a job is given, before the schemas change anything; `Result` is what
 * the last phase returned, as JSON gives it back.
 */
export interface Pipeline<Row = unknown, Params = unknown, Result = unknown> {
  readonly [PIPELINE]: true;
  readonly [TYPES]?: { row: Row; params: Params; result: Result };
  readonly name: string;
  readonly version: string | null;
  readonly input: InputSchema | undefined;
  readonly params: InputSchema | undefined;
  readonly unstorable: UnstorablePolicy;
  readonly key: readonly string[];
  readonly summary: readonly string[];
  readonly strategies: readonly string[];
  readonly resources: Readonly<Record<string, DeclaredLimits>>;
  readonly counters: readonly Counter[];
  readonly outputs: readonly JobOutput[] | undefined;
  readonly phases: readonly Phase[];
  readonly callbacks: PipelineCallbacks;
}

interface PhaseOptions<Row, Resource extends string> {
  name: string;
  /** Calls of this phase that one process runs at once. Default 10; in threads one less than there are CPUs. */
  concurrency?: number;
  /** Time for one call; the signal aborts when it is over. Default: the setting itemTimeoutMs. */
  timeoutMs?: number;
  /**
   * Higher ones are served first where phases of a worker compete. Default 0; among equals later phases of a pipeline go
   * before earlier ones.
   */
  priority?: number;
  /** Resources that each call needs: a name, or `resource(name, keyOf)`. A call waits for them without a slot. */
  resources?: readonly (Resource | ResourceUse<Row, Resource>)[];
  /**
   * Expected cost of one call for one item, in the units of the budget: so much is reserved before it starts.
   * `context.cost` tells what it really was. 0: nobody knows, but it is not free. Left out: calls wait for no budget.
   * A function is given the row as it is stored, before the schema has changed anything.
   */
  cost?: number | CostOf<Row>;
  /** Attempts and backoff per error class, over the defaults. */
  retry?: Partial<Record<Failure['class'], Partial<RetryRule>>>;
  /** Looks at a thrown value before Rowmill does; undefined leaves it to Rowmill. */
  classify?: (error: unknown) => Partial<Failure> | undefined;
}

/** A method: what is written for a part of the row, or for rows of which no schema tells anything, fits as well. */
type CostOf<Row> = { estimate(row: Row): number }['estimate'];

// biome-ignore lint/suspicious/noExplicitAny: a phase with an annotation of its own fits every pipeline, whatever its resources.
type Any = any;

/** Takes one item per call. `Row` is the input as it is stored, before the schema has changed anything. */
export interface SinglePhase<
  Input,
  Previous,
  Output,
  Row = Input,
  Params = AnyParams,
  Strategy = string | undefined,
  Resource extends string = Any,
> extends PhaseOptions<Row, Resource> {
  run: (
    input: Input,
    context: ItemContext<Previous, Params, Strategy>,
  ) => Output | Verdict | Promise<Output | Verdict>;
  /**
   * For handlers that compute: each call runs in a thread, which loads the module of the pipeline for itself. A thread
   * that ends, blocks or needs more memory than this costs its one item.
   */
  thread?: boolean | { memoryMb: number };
  runMany?: undefined;
  batch?: undefined;
}

/** Takes several items of one job per call. */
export interface ManyPhase<
  Input,
  Previous,
  Output,
  Row = Input,
  Params = AnyParams,
  Strategy = string | undefined,
  Resource extends string = Any,
> extends PhaseOptions<Row, Resource> {
  /**
   * One entry per item, in their order: data or a verdict, or a promise of it. Undefined, no entry, or a promise that
   * rejects is that item's failure.
   */
  runMany: (
    items: readonly BatchItem<Input, Previous, Params, Strategy>[],
    context: BatchContext<Params>,
  ) => ManyOutcomes<Output> | Promise<ManyOutcomes<Output>>;
  batch: BatchOptions;
  run?: undefined;
  thread?: undefined;
}

type ManyOutcomes<Output> = readonly (
  | Output
  | Verdict
  | undefined
  | PromiseLike<Output | Verdict | undefined>
)[];

interface BatchOptions {
  /** Items in one call, at the most. */
  maxItems: number;
  /** How long a call that is not full waits while a claim is under way. Default 0: not at all. */
  maxWaitMs?: number;
}

export type Phase<
  Input = unknown,
  Previous = unknown,
  Output = unknown,
  Row = Input,
  Params = AnyParams,
  Strategy = string | undefined,
  Resource extends string = Any,
> =
  | SinglePhase<Input, Previous, Output, Row, Params, Strategy, Resource>
  | ManyPhase<Input, Previous, Output, Row, Params, Strategy, Resource>;
