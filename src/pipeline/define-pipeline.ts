// What a developer writes: a named pipeline with an input schema and one or more phases in order.
// A definition is data plus handlers; it is checked here once and never at run time.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Ability } from '../core/claims/ability.ts';
import { isAmount } from '../core/limits/budget.ts';
import { type Counter, distinctCounters, isCounter } from '../core/items/counter.ts';
import { ERROR_CLASSES, type Failure, type Verdict } from '../core/items/outcome.ts';
import { JOB_OUTPUTS, type JobOutput } from '../core/files/output-format.ts';
import type { DeclaredLimits } from '../core/limits/resource-limits.ts';
import type { RetryRule } from '../core/retries/retry-policy.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { UnstorablePolicy } from '../core/items/storable-json.ts';
import type { StoredValue } from '../core/items/stored-value.ts';
import type { PipelineCallbacks } from './pipeline-callbacks.ts';
import { checkFields, checkKeys } from './check-keys.ts';
import type { BatchContext, BatchItem, ItemContext } from './item-context.ts';
import { checkResources, checkUses, type ResourceUse } from './phase-resources.ts';

export type { RetryRule };

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

export type Phase<Input, Previous, Output, Row = Input> =
  | SinglePhase<Input, Previous, Output, Row>
  | ManyPhase<Input, Previous, Output, Row>;

type AnySchema = StandardSchemaV1<unknown, unknown>;
type InputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Record<string, unknown>;
type RowOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Schema>
  : Record<string, unknown>;
type FirstPhase<Schema, Output> = Phase<InputOf<Schema>, undefined, Output, RowOf<Schema>>;
/** Previous is what the phase before returned, as JSON gives it back: a Date is text. */
type NextPhase<Schema, Before, Output> = Phase<InputOf<Schema>, StoredValue<Before>, Output, RowOf<Schema>>;

interface Shared<Schema> extends PipelineCallbacks {
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
  params?: AnySchema;
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
export type PipelineDefinition = Shared<AnySchema | undefined> & { phases: unknown[] };

const PIPELINE = Symbol.for('rowmill.pipeline');
/** Timers cannot measure more, and fire at once instead. */
const MAX_TIMER_MS = 2_147_483_647;

/** A checked definition. */
export interface Pipeline {
  // A mark instead of a class: the definition may come from another copy of this module.
  readonly [PIPELINE]: true;
  readonly name: string;
  readonly version: string | null;
  readonly input: AnySchema | undefined;
  readonly params: AnySchema | undefined;
  readonly unstorable: UnstorablePolicy;
  readonly key: readonly string[];
  readonly summary: readonly string[];
  readonly strategies: readonly string[];
  readonly resources: Readonly<Record<string, DeclaredLimits>>;
  readonly counters: readonly Counter[];
  readonly outputs: readonly JobOutput[] | undefined;
  readonly phases: readonly Phase<unknown, unknown, unknown>[];
  readonly callbacks: PipelineCallbacks;
}

export function definePipeline<A, Schema extends AnySchema | undefined = undefined>(
  definition: Shared<Schema> & { phases: [FirstPhase<Schema, A>] },
): Pipeline;
export function definePipeline<A, B, Schema extends AnySchema | undefined = undefined>(
  definition: Shared<Schema> & { phases: [FirstPhase<Schema, A>, NextPhase<Schema, A, B>] },
): Pipeline;
export function definePipeline<A, B, C, Schema extends AnySchema | undefined = undefined>(
  definition: Shared<Schema> & {
    phases: [FirstPhase<Schema, A>, NextPhase<Schema, A, B>, NextPhase<Schema, B, C>];
  },
): Pipeline;
export function definePipeline<A, B, C, D, Schema extends AnySchema | undefined = undefined>(
  definition: Shared<Schema> & {
    phases: [
      FirstPhase<Schema, A>,
      NextPhase<Schema, A, B>,
      NextPhase<Schema, B, C>,
      NextPhase<Schema, C, D>,
    ];
  },
): Pipeline;
export function definePipeline<A, B, C, D, E, Schema extends AnySchema | undefined = undefined>(
  definition: Shared<Schema> & {
    phases: [
      FirstPhase<Schema, A>,
      NextPhase<Schema, A, B>,
      NextPhase<Schema, B, C>,
      NextPhase<Schema, C, D>,
      NextPhase<Schema, D, E>,
    ];
  },
): Pipeline;
export function definePipeline<Schema extends AnySchema | undefined = undefined>(
  definition: Shared<Schema> & { phases: Phase<InputOf<Schema>, unknown, unknown, RowOf<Schema>>[] },
): Pipeline;
export function definePipeline(definition: PipelineDefinition): Pipeline {
  if (typeof definition !== 'object' || definition === null) {
    throw invalid(
      `expected definePipeline to be given a definition, got ${kindOf(definition)}`,
      'Write definePipeline({ name: "prices", phases: [{ name: "lookup", run: async (row) => … }] }).',
    );
  }
  const {
    name,
    version = null,
    input,
    params,
    unstorable = 'fail',
    summary = [],
    strategies = [],
    resources = {},
    counters = [],
    outputs,
  } = definition;
  const key = typeof definition.key === 'string' ? [definition.key] : (definition.key ?? []);
  const phases = definition.phases as Phase<unknown, unknown, unknown>[];
  if (typeof name !== 'string' || !/^[\w.-]{1,100}$/.test(name)) {
    throw invalid(
      `expected the pipeline name to be 1 to 100 letters, digits, dots, dashes or underscores, got ${JSON.stringify(name)}`,
      'Choose a name that stays: jobs are stored with it and find their pipeline by it.',
    );
  }
  if (version !== null && (typeof version !== 'string' || !/^[\w.+-]{1,100}$/.test(version)))
    throw invalid(
      `expected the version of pipeline ${name} to be a short text such as 2 or 1.4.0, got ${JSON.stringify(version)}`,
    );
  checkSchema(
    `input of pipeline ${name}`,
    input,
    'Use zod from 3.24, valibot from 1.0 or arktype from 2.0, or leave input out to get rows as they are stored.',
  );
  checkSchema(
    `params of pipeline ${name}`,
    params,
    'Use zod from 3.24, valibot from 1.0 or arktype from 2.0, or leave params out to take anything.',
  );
  checkResources(name, resources);
  checkCounters(name, counters);
  checkNames(name, 'key', key);
  checkNames(name, 'summary', summary);
  checkNames(name, 'strategies', strategies, 'texts');
  checkFields(name, 'key', key, input);
  checkFields(name, 'summary', summary, input);
  if (new Set(strategies).size < strategies.length)
    throw invalid(`expected the strategies of pipeline ${name} to differ, got ${strategies.join(', ')}`);
  for (const format of outputs ?? []) {
    if (!JOB_OUTPUTS.includes(format))
      throw invalid(
        `expected the outputs of pipeline ${name} to be ${JOB_OUTPUTS.join(', ')}, got ${format}`,
      );
  }
  if (!Array.isArray(phases) || phases.length === 0)
    throw invalid(
      `expected pipeline ${name} to have at least one phase, got ${Array.isArray(phases) ? 'none' : kindOf(phases)}`,
      'Write phases: [{ name: "lookup", run: async (row) => … }].',
    );
  checkKeys(definition);
  const seen = new Set<string>();
  for (const [index, phase] of phases.entries()) {
    if (typeof phase?.name !== 'string' || phase.name === '') {
      throw invalid(
        `expected every phase of pipeline ${name} to have a name, number ${index + 1} has none`,
        'Write { name: "lookup", run: async (row) => … }.',
      );
    }
    if (seen.has(phase.name)) {
      throw invalid(
        `pipeline ${name} has two phases named ${phase.name}`,
        'Give each phase a name of its own.',
      );
    }
    seen.add(phase.name);
    checkHandler(name, phase);
    checkRetry(name, phase);
    checkUses(name, phase, resources);
    checkCost(name, phase);
    checkWhole(name, phase.name, 'concurrency', phase.concurrency);
    checkWhole(name, phase.name, 'timeoutMs', phase.timeoutMs);
    if (phase.priority !== undefined && !isWhole(phase.priority, -1000, 1000))
      throw invalid(
        `expected priority of phase ${phase.name} of pipeline ${name} to be a whole number from -1000 to 1000, got ${String(phase.priority)}`,
        'Higher ones are served first; the default is 0.',
      );
  }
  return Object.freeze({
    [PIPELINE]: true as const,
    name,
    version,
    input,
    params,
    unstorable,
    key,
    summary,
    strategies,
    resources,
    counters,
    outputs,
    phases,
    callbacks: checkedCallbacks(name, definition),
  });
}

/** What a worker that has this definition can run. */
export function abilityOf({ name, version, phases }: Pipeline): Ability {
  return { pipeline: name, version, phases: phases.map((phase) => phase.name) };
}

export function isPipeline(value: unknown): value is Pipeline {
  return (
    typeof value === 'object' && value !== null && (value as { [PIPELINE]?: unknown })[PIPELINE] === true
  );
}

function checkedCallbacks(pipeline: string, definition: PipelineCallbacks): PipelineCallbacks {
  const callbacks: Record<string, unknown> = {};
  for (const key of ['onDone', 'onItemError', 'onPhaseDone'] as const) {
    const callback: unknown = definition[key];
    if (callback === undefined) continue;
    if (typeof callback !== 'function')
      throw invalid(
        `expected ${key} of pipeline ${pipeline} to be a function, got ${kindOf(callback)}`,
        `Write ${key}: async (…, context) => …, and do not call it there.`,
      );
    callbacks[key] = callback;
  }
  return callbacks;
}

function checkCounters(pipeline: string, counters: readonly unknown[]): void {
  if (!Array.isArray(counters) || !counters.every(isCounter))
    throw invalid(
      `expected the counters of pipeline ${pipeline} to be a list of what defineCounter gave`,
      'Write counters: [annotations], with const annotations = defineCounter({ … }).',
    );
  distinctCounters(counters);
}

function checkNames(
  pipeline: string,
  what: string,
  names: readonly string[],
  of = 'names of input fields',
): void {
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string' || name === ''))
    throw invalid(`expected the ${what} of pipeline ${pipeline} to be ${of}`);
}

function checkRetry(pipeline: string, phase: Phase<unknown, unknown, unknown>): void {
  for (const [errorClass, rule] of Object.entries(phase.retry ?? {})) {
    const where = `phase ${phase.name} of pipeline ${pipeline}`;
    if (!(ERROR_CLASSES as readonly string[]).includes(errorClass)) {
      throw invalid(
        `expected retry of ${where} to name error classes, got ${errorClass}`,
        `The classes are ${ERROR_CLASSES.join(', ')}.`,
      );
    }
    const { maxAttempts } = rule ?? {};
    if (maxAttempts !== undefined && (!Number.isInteger(maxAttempts) || maxAttempts < 1)) {
      throw invalid(
        `expected maxAttempts for ${errorClass} in ${where} to be a whole number from 1, got ${maxAttempts}`,
        'It counts all calls: 1 means that nothing is tried again.',
      );
    }
    for (const [key, max] of Object.entries({ baseMs: MAX_TIMER_MS, factor: 1000, capMs: MAX_TIMER_MS })) {
      const value: unknown = (rule as Record<string, unknown> | undefined)?.[key];
      if (value === undefined || (typeof value === 'number' && value >= 0 && value <= max)) continue;
      throw invalid(
        `expected ${key} for ${errorClass} in ${where} to be a number from 0 to ${max}, got ${typeof value === 'number' ? value : kindOf(value)}`,
        'The wait before a try is random, up to baseMs times factor for each try before it, and never more than capMs.',
      );
    }
  }
}

function checkSchema(what: string, schema: AnySchema | undefined, hint: string): void {
  if (schema === undefined || typeof schema?.['~standard']?.validate === 'function') return;
  throw invalid(
    `expected the ${what} to be a Standard Schema such as z.object(…), got ${kindOf(schema)}`,
    hint,
  );
}

function checkCost(pipeline: string, { name, cost }: { name: string; cost?: unknown }): void {
  if (cost === undefined || typeof cost === 'function' || isAmount(cost)) return;
  throw invalid(
    `expected cost of phase ${name} of pipeline ${pipeline} to be a number from 0 or a function of the row, got ${typeof cost === 'number' ? cost : kindOf(cost)}`,
    'It is the estimate of one call, in the units of the budget: docs/budgets.md.',
  );
}

/** For people: what they gave in place of what was expected. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function checkHandler(pipeline: string, phase: Phase<unknown, unknown, unknown>): void {
  const what = `phase ${phase.name} of pipeline ${pipeline}`;
  const { run, runMany, batch, thread } = phase as { [Key in keyof SinglePhase<0, 0, 0>]: unknown };
  if (run === undefined && runMany === undefined)
    throw invalid(`expected ${what} to have a run function, or runMany for several items at once`);
  if (run !== undefined && runMany !== undefined)
    throw invalid(`expected ${what} to have either run or runMany, got both`);
  if (typeof (run ?? runMany) !== 'function')
    throw invalid(
      `expected ${run === undefined ? 'runMany' : 'run'} of ${what} to be a function, got ${kindOf(run ?? runMany)}`,
      'Write run: async (row, context) => …, and do not call it there.',
    );
  if (runMany === undefined && batch !== undefined)
    throw invalid(`expected ${what} to have runMany, because it has batch`);
  if (runMany !== undefined) {
    if (thread) throw invalid(`expected ${what} to have run: a thread takes one item at a time`);
    const { maxItems, maxWaitMs } = (batch ?? {}) as { maxItems?: unknown; maxWaitMs?: unknown };
    if (!isWhole(maxItems, 1, 100_000))
      throw invalid(
        `expected batch.maxItems of ${what} to be a whole number from 1 to 100,000, got ${String(maxItems)}`,
      );
    if (maxWaitMs !== undefined && !isWhole(maxWaitMs, 0, 60_000))
      throw invalid(
        `expected batch.maxWaitMs of ${what} to be a whole number from 0 to 60,000, got ${String(maxWaitMs)}`,
      );
  }
  const memoryMb =
    typeof thread === 'object' && thread !== null ? (thread as { memoryMb: unknown }).memoryMb : 64;
  if (
    (thread !== undefined && typeof thread !== 'boolean' && typeof thread !== 'object') ||
    !isWhole(memoryMb, 16, 1_000_000)
  )
    throw invalid(`expected thread of ${what} to be true or { memoryMb: a whole number from 16 }`);
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function checkWhole(pipeline: string, phase: string, key: string, value: number | undefined): void {
  if (value !== undefined && (!Number.isInteger(value) || value < 1 || value > MAX_TIMER_MS)) {
    throw invalid(
      `expected ${key} of phase ${phase} of pipeline ${pipeline} to be a whole number from 1, got ${value}`,
    );
  }
}

function invalid(message: string, hint?: string): RowmillError {
  return new RowmillError('PIPELINE_INVALID', message, hint === undefined ? {} : { hint });
}
