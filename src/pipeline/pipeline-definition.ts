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

/** Parts of a definition that all phases share. */
export interface Shared<
  Schema,
  ParamsSchema,
  Strategies extends readonly string[],
  Resource extends string,
  Kinds,
> {
  schema: Schema;
  params: ParamsOf<ParamsSchema>;
  strategy: StrategyOf<Strategies>;
  resource: Resource;
  schemas: Kinds;
  kinds: { readonly [Kind in keyof Kinds]: RowOf<Kinds[Kind]> };
}
type AnyShared = Shared<unknown, unknown, readonly string[], string, unknown>;

/** A phase as the compiler knows it: its kind, name and output. */
type Known = readonly [kind: unknown, name: unknown, output: unknown];

/** The schema of the rows that run a phase. */
type SchemaOf<Kind, In extends AnyShared> =
  KindOf<Kind> extends keyof In['schemas'] ? In['schemas'][KindOf<Kind>] : In['schema'];
/** A phase with its own type annotation has a kind that the compiler does not know: that of the rows of `input`. */
type KindOf<Kind> = string extends Kind ? undefined : Kind;

type KnownKind<Kind, In extends AnyShared> =
  KindOf<Kind> extends keyof In['schemas'] | undefined ? Kind : NoInfer<keyof In['schemas']>;

/** Output of the phase before; undefined in the first phase of a kind. */
type PreviousOf<Before, Kind> = Before extends readonly []
  ? undefined
  : Before extends readonly [...unknown[], infer Last extends Known]
    ? IsSame<Last[0], Kind> extends true
      ? StoredValue<Last[2]>
      : undefined
    : unknown;

/** Outputs of the earlier phases of a kind, by name. */
type OutputsOf<Before, Kind> = Before extends readonly Known[]
  ? { readonly [Each in Before[number] as NameOf<Each, Kind>]: StoredValue<Each[2]> }
  : Readonly<Record<string, unknown>>;
type NameOf<Each extends Known, Kind> = IsSame<Each[0], Kind> extends true ? Each[1] & string : never;
type IsSame<A, B> = [KindOf<A>] extends [KindOf<B>]
  ? [KindOf<B>] extends [KindOf<A>]
    ? true
    : false
  : false;

/**
 * Resource names are inferred from the rest of the definition, not from its phases. Not a union of phases with and
 * without outputs: the compiler would not find out which one a handler is for if the property is left out.
 */
export type PhaseOf<Before, Kind, Name, With extends boolean, Output, In extends AnyShared> = Phase<
  InputOf<SchemaOf<Kind, In>>,
  PreviousOf<Before, Kind>,
  Output,
  RowOf<SchemaOf<Kind, In>>,
  In['params'],
  In['strategy'],
  NoInfer<In['resource']>,
  [With] extends [true] ? OutputsOf<Before, Kind> : undefined,
  NoInfer<In['kinds']>
> & { name: Name; kind?: KnownKind<Kind, In>; withOutputs?: With };

/** Options of `definePipeline`, besides its phases. */
export interface PipelineOptions<
  Schema,
  ParamsSchema,
  Strategies extends readonly string[],
  Resource extends string,
  Kinds,
  Merge extends 'last' | 'merge',
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
  /**
   * Schemas of other kinds of rows, by kind: rows that handlers add with `context.emit({ kind, key, input })`. They run
   * the phases of their kind only.
   */
  kinds?: Kinds;
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
  /** `merge`: the result of a row has the fields of the outputs of all its phases. Default `last`: the last output. */
  result?: Merge;
  /** Formats of the result files of a finished job. Default: the format of its input, or CSV if it had no file. */
  outputs?: readonly JobOutput[];
  /** Days after which a finished job is deleted; 0 keeps it for ever. Default: the setting jobKeepDays. */
  keepDays?: number;
  /**
   * Unit of its costs, shown beside every amount: an ISO currency code such as `EUR`, `tokens`, or another short word.
   * A job keeps the unit that it was created with.
   */
  costUnit?: string;
}

/** A definition before it is checked. */
export type PipelineDefinition = PipelineOptions<
  InputSchema | undefined,
  InputSchema | undefined,
  readonly string[],
  string,
  Readonly<Record<string, InputSchema>>,
  'last' | 'merge'
> & { phases: unknown };

/** `Phases` has one entry for each of the first twenty phases. */
export type PipelineOf<
  Schema,
  ParamsSchema,
  Phases extends readonly Known[],
  Merge extends 'last' | 'merge',
  Count extends number,
> = Pipeline<RowOf<Schema, object>, RowOf<ParamsSchema>, ResultOf<FirstOf<Phases, Count>, Merge>>;

/** The first `Count` phases; unknown for a list of unknown length. */
type FirstOf<
  Phases,
  Count extends number,
  Taken extends readonly unknown[] = [],
> = Taken['length'] extends Count
  ? number extends Count
    ? unknown
    : Taken
  : Phases extends readonly [infer Next, ...infer Rest]
    ? FirstOf<Rest, Count, [...Taken, Next]>
    : unknown;

/** The result of rows of all kinds. */
type ResultOf<Phases, Merge> = Phases extends readonly [infer First extends Known, ...infer Rest]
  ? LaneResult<First[0], StoredValue<First[2]>, Rest, Merge>
  : unknown;
type LaneResult<Kind, Sofar, Rest, Merge> = Rest extends readonly [infer Next extends Known, ...infer Later]
  ? IsSame<Next[0], Kind> extends true
    ? LaneResult<
        Kind,
        Merge extends 'merge' ? Spread<Sofar, StoredValue<Next[2]>> : StoredValue<Next[2]>,
        Later,
        Merge
      >
    : Sofar | ResultOf<Rest, Merge>
  : Sofar;

/** The type of `{ ...left, ...right }`. */
type Spread<Left, Right> = Right extends null
  ? Left
  : Left extends null
    ? Right
    : Flat<
        Omit<Left, keyof Right> &
          Omit<Right, keyof Left> & {
            [Key in keyof Left & keyof Right]: undefined extends Right[Key]
              ? Left[Key] | Exclude<Right[Key], undefined>
              : Right[Key];
          }
      >;
type Flat<Of> = { [Key in keyof Of]: Of[Key] };
