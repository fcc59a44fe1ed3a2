// The definition of a pipeline as developers write it, and the types inferred from it.
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
/** Parameters after a JSON round trip: a Date is text. */
type ParamsOf<Schema> = Schema extends StandardSchemaV1
  ? Readonly<StoredValue<StandardSchemaV1.InferOutput<Schema>>>
  : AnyParams;
/** A list whose entries are unknown to the compiler may be empty. */
type StrategyOf<Strategies extends readonly string[]> = Strategies extends readonly [string, ...string[]]
  ? Strategies[number]
  : Strategies extends readonly []
    ? undefined
    : Strategies[number] | undefined;
/** Columns of a row. Rows of image jobs have additional columns. */
type FieldOf<Row> = unknown extends Row
  ? string
  : Row extends object
    ? Extract<keyof Row, string> | (typeof IMAGE_HEADERS)[number]
    : string;

/** Resource names are inferred from the rest of the definition, not from its phases. */
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

/** Options of `definePipeline`, besides its phases. */
export interface PipelineOptions<
  Schema,
  ParamsSchema,
  Strategies extends readonly string[],
  Resource extends string,
> extends PipelineCallbacks<ParamsOf<ParamsSchema>> {
  /** Name of the pipeline, unique within a worker. Jobs refer to it. */
  name: string;
  /**
   * Version of the pipeline. Jobs run with the version they were created with: change it when rows in progress must
   * not run with the new code. A worker can have several versions of a pipeline, each with its own definition.
   */
  version?: string;
  /**
   * Schema of the rows: any Standard Schema (zod, valibot, arktype …). Without one, handlers get the row as it is
   * stored.
   */
  input?: Schema;
  /** Schema of the job parameters: any Standard Schema. Without one, any parameters are passed on. */
  params?: ParamsSchema;
  /** Handling of NUL characters and half surrogate pairs in results. Default: the item fails. */
  unstorable?: UnstorablePolicy;
  /**
   * Fields whose values together identify a row, such as an article number. Rows of a job must differ in them, and a
   * corrected file takes over the results of unchanged rows.
   */
  key?: FieldOf<RowOf<NoInfer<Schema>, unknown>> | readonly FieldOf<RowOf<NoInfer<Schema>, unknown>>[];
  /** Fields shown in lists of rows. Default: the first three that have a value. */
  summary?: readonly FieldOf<RowOf<NoInfer<Schema>, unknown>>[];
  /** Names of strategies. A row that is not found is retried with the next one: see `context.strategy`. */
  strategies?: Strategies;
  /** Limits of external services, by name. Pipelines that name the same resource share it. */
  resources?: Readonly<Record<Resource, DeclaredLimits>>;
  /** Counters that its handlers update with `context.count`. */
  counters?: readonly Counter[];
  /** Formats of the result files of a finished job. Default: the format of its input, or CSV if it had no file. */
  outputs?: readonly JobOutput[];
}

/** A definition before it is checked. */
export type PipelineDefinition = PipelineOptions<
  InputSchema | undefined,
  InputSchema | undefined,
  readonly string[],
  string
> & { phases: unknown };

/** `Outputs` has one entry per phase after its first entry, which is for a list of unknown length. */
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
