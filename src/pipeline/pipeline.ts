// The types of a pipeline: what a developer writes, and the checked definition that the rest of Rowmill reads.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JobOutput } from '../core/files/output-format.ts';
import type { Counter } from '../core/items/counter.ts';
import type { Failure, Verdict } from '../core/items/outcome.ts';
import type { UnstorablePolicy } from '../core/items/storable-json.ts';
import type { StoredValue } from '../core/items/stored-value.ts';
import type { DeclaredLimits } from '../core/limits/resource-limits.ts';
import type { RetryRule } from '../core/retries/retry-policy.ts';
import type { InputSchema } from './input-schema.ts';
import type { BatchContext, BatchItem, ItemContext } from './item-context.ts';
import type { ResourceUse } from './phase-resources.ts';
import type { PipelineCallbacks } from './pipeline-callbacks.ts';

interface PhaseOptions<Row> {
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
  /** What each call needs of the resources of the pipeline: a name, or `resource(name, keyOf)`. A call waits for it without a slot. */
  resources?: readonly (string | ResourceUse<Row>)[];
  /**
   * What one call for one item is expected to cost, in the units of the budget: so much is set aside before it starts.
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

/** Takes one item per call. `Row` is the input as it is stored, before the schema has changed anything. */
export interface SinglePhase<Input, Previous, Output, Row = Input> extends PhaseOptions<Row> {
  run: (input: Input, context: ItemContext<Previous>) => Output | Verdict | Promise<Output | Verdict>;
  /**
   * For handlers that compute: each call runs in a thread, which loads the module of the pipeline for itself. A thread
   * that ends, blocks or needs more memory than this costs its one item.
   */
  thread?: boolean | { memoryMb: number };
  runMany?: undefined;
  batch?: undefined;
}

/** Takes several items of one job per call. */
export interface ManyPhase<Input, Previous, Output, Row = Input> extends PhaseOptions<Row> {
  /**
   * One entry per item, in their order: data or a verdict, or a promise of it. Undefined, no entry, or a promise that
   * rejects is that item's failure.
   */
  runMany: (
    items: readonly BatchItem<Input, Previous>[],
    context: BatchContext,
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

export type Phase<Input = unknown, Previous = unknown, Output = unknown, Row = Input> =
  | SinglePhase<Input, Previous, Output, Row>
  | ManyPhase<Input, Previous, Output, Row>;

export type InputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Record<string, unknown>;
export type RowOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Schema>
  : Record<string, unknown>;
export type FirstPhase<Schema, Output> = Phase<InputOf<Schema>, undefined, Output, RowOf<Schema>>;
/** Previous is what the phase before returned, as JSON gives it back: a Date is text. */
export type NextPhase<Schema, Before, Output> = Phase<
  InputOf<Schema>,
  StoredValue<Before>,
  Output,
  RowOf<Schema>
>;

export interface SharedDefinition<Schema> extends PipelineCallbacks {
  /** Unique among the pipelines of a worker; jobs name it. */
  name: string;
  /**
   * Jobs run through the version they were made with: change it when rows that are under way must not meet the new
   * code. A worker can have several versions of a pipeline, each as a definition of its own.
   */
  version?: string;
  /** Any Standard Schema (zod, valibot, arktype …). Without one, handlers get the row as it is stored. */
  input?: Schema;
  /** What a job may be given besides its rows; any Standard Schema. Without one, anything is passed on. */
  params?: InputSchema;
  /** What to do with NUL characters and half surrogate pairs in results. Default: the item fails. */
  unstorable?: UnstorablePolicy;
  /**
   * Fields whose values together name a row (an article number, say): no two rows of a job may share them, and a
   * corrected file takes over the results of rows that did not change.
   */
  key?: string | readonly string[];
  /** Fields that lists of rows show. Default: the first three that hold something. */
  summary?: readonly string[];
  /** Ways to look for something. A row that was not found is tried again with the next one: `context.strategy`. */
  strategies?: readonly string[];
  /** Limits of what its calls use outside, by name. Pipelines that name the same resource share it. */
  resources?: Readonly<Record<string, DeclaredLimits>>;
  /** Counters that its handlers feed with `context.count`. */
  counters?: readonly Counter[];
  /** Formats of the result files that a finished job leaves. Default: like its input; CSV when it had no file. */
  outputs?: readonly JobOutput[];
}

/** A definition before it is checked. */
export type PipelineDefinition = SharedDefinition<InputSchema | undefined> & { phases: unknown[] };

/** Marks a checked definition. A mark instead of a class: the definition may come from another copy of this module. */
export const PIPELINE = Symbol.for('rowmill.pipeline');

/** A checked definition. */
export interface Pipeline {
  readonly [PIPELINE]: true;
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
