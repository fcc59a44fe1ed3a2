// The definition of a pipeline as a developer writes it, and the types that are inferred from it.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JobOutput } from '../core/files/output-format.ts';
import type { Counter } from '../core/items/counter.ts';
import type { IMAGE_HEADERS } from '../core/items/image-rows.ts';
import type { UnstorablePolicy } from '../core/items/storable-json.ts';
import type { StoredValue } from '../core/items/stored-value.ts';
import type { DeclaredLimits } from '../core/limits/resource-limits.ts';
import type { InputSchema } from './input-schema.ts';
import type { AnyParams } from './item-context.ts';
import type { Phase, Pipeline } from './pipeline.ts';
import type { PipelineCallbacks } from './pipeline-callbacks.ts';

type InputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Record<string, unknown>;
type RowOf<Schema, Otherwise = Record<string, unknown>> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Schema>
  : Otherwise;
/** As JSON gives them back: a Date is text. */
type ParamsOf<Schema> = Schema extends StandardSchemaV1
  ? Readonly<StoredValue<StandardSchemaV1.InferOutput<Schema>>>
  : AnyParams;
/** A list whose entries the compiler does not know may be empty. */
type StrategyOf<Strategies extends readonly string[]> = Strategies extends readonly [string, ...string[]]
  ? Strategies[number]
  : Strategies extends readonly []
    ? undefined
    : Strategies[number] | undefined;
/** The columns of a row. Rows of images have columns of their own. */
type FieldOf<Row> = unknown extends Row
  ? string
  : Row extends object
    ? Extract<keyof Row, string> | (typeof IMAGE_HEADERS)[number]
    : string;

/** The names of resources come from the rest of the definition, not from its phases. */
export type PhaseOf<
  Previous,
  Output,
  Schema,
  ParamsSchema,
  Strategies extends readonly string[],
  Resource extends string,
> = Phase<
  InputOf<Schema>,
  Previous,
  Output,
  RowOf<Schema>,
  ParamsOf<ParamsSchema>,
  StrategyOf<Strategies>,
  NoInfer<Resource>
>;

export interface PipelineOptions<
  Schema,
  ParamsSchema,
  Strategies extends readonly string[],
  Resource extends string,
> extends PipelineCallbacks<ParamsOf<ParamsSchema>> {
  /** Unique among the pipelines of a worker; jobs name it. */
  name: string;
  /**
   * Jobs run through the version they were made with: change it when rows that are under way must not meet the new
   * code. A worker can have several versions of a pipeline, each as a definition of its own.
   */
  version?: string;
  /** Any Standard Schema (zod, valibot, arktype …). Without one, handlers get the row as it is stored. */
  input?: Schema;
  /** Parameters of a job, besides its rows; any Standard Schema. Without one, anything is passed on. */
  params?: ParamsSchema;
  /** Handling of NUL characters and half surrogate pairs in results. Default: the item fails. */
  unstorable?: UnstorablePolicy;
  /**
   * Fields whose values together name a row (an article number, say): no two rows of a job may share them, and a
   * corrected file takes over the results of rows that did not change.
   */
  key?: FieldOf<RowOf<NoInfer<Schema>, unknown>> | readonly FieldOf<RowOf<NoInfer<Schema>, unknown>>[];
  /** Fields that lists of rows show. Default: the first three that hold something. */
  summary?: readonly FieldOf<RowOf<NoInfer<Schema>, unknown>>[];
  /** Ways to look for something. A row that was not found is tried again with the next one: `context.strategy`. */
  strategies?: Strategies;
  /** Limits of what its calls use outside, by name. Pipelines that name the same resource share it. */
  resources?: Readonly<Record<Resource, DeclaredLimits>>;
  /** Counters that its handlers feed with `context.count`. */
  counters?: readonly Counter[];
  /** Formats of the result files that a finished job leaves. Default: like its input; CSV when it had no file. */
  outputs?: readonly JobOutput[];
}

/** A definition before it is checked. */
export type PipelineDefinition = PipelineOptions<
  InputSchema | undefined,
  InputSchema | undefined,
  readonly string[],
  string
> & { phases: unknown };

/** `Outputs` has one entry per phase behind its first, which stands for a list whose length the compiler does not know. */
export type PipelineOf<
  Schema,
  ParamsSchema,
  Outputs extends readonly unknown[],
  Count extends number,
> = Pipeline<
  RowOf<Schema, object>,
  RowOf<ParamsSchema>,
  `${Count}` extends keyof Outputs ? StoredValue<Outputs[`${Count}`]> : unknown
>;
