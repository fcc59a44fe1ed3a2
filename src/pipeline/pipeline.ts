// A checked pipeline and its phases, as the rest of the code reads them.
import type { JobOutput } from '../core/files/output-format.ts';
import type { Counter } from '../core/items/counter.ts';
import type { Failure, Verdict } from '../core/items/outcome.ts';
import type { UnstorablePolicy } from '../core/items/storable-json.ts';
import type { DeclaredLimits } from '../core/limits/resource-limits.ts';
import type { RetryRule } from '../core/retries/retry-policy.ts';
import type { InputSchema } from './input-schema.ts';
import type { AnyKinds, AnyParams, BatchContext, BatchItem, ItemContext } from './item-context.ts';
import type { ResourceUse } from './phase-resources.ts';
import type { PipelineCallbacks } from './pipeline-callbacks.ts';

/**
 * Marks a checked definition. A symbol instead of a class, because the definition may come from another copy of this
 * module.
 */
export const PIPELINE = Symbol.for('rowmill.pipeline');

/** Exists only for the compiler. */
declare const TYPES: unique symbol;

/**
 * A checked definition. `Row` and `Params` are the types of job input, before the schemas parse it. `Result` is the
 * value that the last phase returns, after a JSON round trip.
 */
export interface Pipeline<Row = unknown, Params = unknown, Result = unknown> {
  readonly [PIPELINE]: true;
  readonly [TYPES]?: { row: Row; params: Params; result: Result };
  readonly name: string;
  readonly version: string | null;
  readonly input: InputSchema | undefined;
  /** Schemas of the rows of other kinds than those of `input`, by kind. */
  readonly kinds: Readonly<Record<string, InputSchema>>;
  /** `merge`: the result has the fields of the outputs of all phases. */
  readonly result: 'last' | 'merge';
  readonly params: InputSchema | undefined;
  readonly unstorable: UnstorablePolicy;
  readonly key: readonly string[];
  readonly summary: readonly string[];
  readonly strategies: readonly string[];
  readonly resources: Readonly<Record<string, DeclaredLimits>>;
  readonly counters: readonly Counter[];
  /** Days that finished jobs are kept; 0 for ever, null for the owner's or the setting's decision. */
  readonly keepDays: number | null;
  readonly outputs: readonly JobOutput[] | undefined;
  /** Unit of its costs; null if it declares none. */
  readonly costUnit: string | null;
  readonly phases: readonly Phase[];
  readonly callbacks: PipelineCallbacks;
}

/** Options of every phase. */
interface PhaseOptions<Row, Resource extends string> {
  /** Name of the phase, unique within its pipeline. */
  name: string;
  /** Maximum number of concurrent calls in one process. Default 10; with `thread`, one less than the number of CPUs. */
  concurrency?: number;
  /** Timeout of one call in milliseconds, after which the signal aborts. Default: the setting itemTimeoutMs. */
  timeoutMs?: number;
  /**
   * Phases with a higher priority are served first when phases of a worker compete. Default 0. With equal priority,
   * later phases of a pipeline come before earlier ones.
   */
  priority?: number;
  /** Resources that each call needs: a name, or `resource(name, keyOf)`. A call that waits for them takes no slot. */
  resources?: readonly (Resource | ResourceUse<Row, Resource>)[];
  /**
   * Estimated cost of one call for one item, in budget units. This amount is reserved before the call starts; report
   * the actual cost with `context.cost`. 0 means that the cost is unknown but not zero. If omitted, calls do not wait
   * for a budget. A function gets the row as it is stored, before the schema parses it.
   */
  cost?: number | CostOf<Row>;
  /** Gives the handler `context.outputs`. The claim then reads the outputs of all earlier phases. Default false. */
  withOutputs?: boolean;
  /** Kind of rows that run this phase: one of `kinds` of the pipeline. Default: the rows of `input`. */
  kind?: string | undefined;
  /** Attempts and backoff per error class, overriding the defaults. */
  retry?: Partial<Record<Failure['class'], Partial<RetryRule>>>;
  /** Classifies a thrown value before Rowmill does; undefined leaves it to Rowmill. */
  classify?: (error: unknown) => Partial<Failure> | undefined;
}

/** Declared as a method to get bivariant parameters, so functions typed with a partial row are accepted. */
type CostOf<Row> = { estimate(row: Row): number }['estimate'];

// biome-ignore lint/suspicious/noExplicitAny: a phase with its own type annotation is accepted by every pipeline, whatever its resources.
type Any = any;

/** A phase that handles one item per call. `Row` is the input as it is stored, before the schema parses it. */
export interface SinglePhase<
  Input,
  Previous,
  Output,
  Row = Input,
  Params = AnyParams,
  Strategy = string | undefined,
  Resource extends string = Any,
  Outputs = Any,
  Kinds = AnyKinds,
> extends PhaseOptions<Row, Resource> {
  run: (
    input: Input,
    context: ItemContext<Previous, Params, Strategy, Outputs, Kinds>,
  ) => Output | Verdict | Promise<Output | Verdict>;
  /**
   * Runs each call in a thread, for CPU-bound handlers. Each thread loads the module of the pipeline. If a thread
   * exits, blocks or exceeds its memory limit, only its current item is affected.
   */
  thread?: boolean | { memoryMb: number };
  runMany?: undefined;
  batch?: undefined;
}

/** A phase that handles several items of one job per call. */
export interface ManyPhase<
  Input,
  Previous,
  Output,
  Row = Input,
  Params = AnyParams,
  Strategy = string | undefined,
  Resource extends string = Any,
  Outputs = Any,
  Kinds = AnyKinds,
> extends PhaseOptions<Row, Resource> {
  /**
   * Returns one entry per item, in order: data or a verdict, or a promise of one. If an entry is undefined, missing or
   * a rejected promise, that item fails.
   */
  runMany: (
    items: readonly BatchItem<Input, Previous, Params, Strategy, Outputs, Kinds>[],
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
  /** Maximum number of items per call. */
  maxItems: number;
  /** Time a call that is not full waits while a claim is in progress, in milliseconds. Default 0. */
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
  Outputs = Any,
  Kinds = AnyKinds,
> =
  | SinglePhase<Input, Previous, Output, Row, Params, Strategy, Resource, Outputs, Kinds>
  | ManyPhase<Input, Previous, Output, Row, Params, Strategy, Resource, Outputs, Kinds>;
