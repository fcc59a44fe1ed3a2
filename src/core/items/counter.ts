// Definitions of counters and the contributions of items to them, as pure values. See docs/counters.md for the rules.
import { RowmillError } from '../errors/rowmill-error.ts';

export const COUNT_MODES = ['add', 'replace'] as const;
export type CountMode = (typeof COUNT_MODES)[number];

/** Maximum value of a measure: up to here numbers are exact in JavaScript and JSON. */
const MAX_MEASURED = Number.MAX_SAFE_INTEGER;
const MAX_MEASURES = 16;
/** Maximum per call, because one transaction writes them. */
const MAX_CONTRIBUTIONS = 10_000;
/** Together with the owner, they must fit into an index entry of about 2,700 bytes. */
const MAX_KEY_BYTES = { scope: 500, entity: 1000 };

const COUNTER = Symbol.for('rowmill.counter');

/** A validated definition. */
export interface Counter<Measure extends string = string> {
  // A symbol instead of a class, because the definition may come from another copy of this module.
  readonly [COUNTER]: true;
  readonly name: string;
  /** Noun for a scope, such as project. */
  readonly scope: string;
  /** Noun for an entity, such as document. */
  readonly entity: string;
  readonly measures: readonly Measure[];
  /** True if all owners share and see one set of numbers. */
  readonly shared: boolean;
}

/** The owner id of shared counters. No job can belong to it. */
export const EVERYBODY = '*';

export interface CounterKey {
  scope: string;
  entity: string;
}

/** One item's contribution to one (scope, entity). */
export interface Contribution extends CounterKey {
  counter: string;
  mode: CountMode;
  /** By measure; missing measures are 0. */
  measured: Record<string, number>;
}

/**
 * Defines a rollup that handlers feed with `context.count`: per (scope, entity), per entity over all scopes, and per
 * scope. List it in the `counters` of each pipeline that feeds it. Pipelines that list the same counter share it.
 */
export function defineCounter<const Measure extends string>(definition: {
  /** Permanent: numbers are stored under it. */
  name: string;
  /** Singular noun for a scope, such as project. */
  scope: string;
  /** Singular noun for an entity, such as document. */
  entity: string;
  /** Names of the counted quantities. More can be added later. Numbers of removed measures are kept. */
  measures: readonly Measure[];
  /**
   * True if jobs of all owners count in the same entries, visible to everyone with access to counters. Default: each
   * owner has separate numbers. Cannot change after the first registration.
   */
  shared?: boolean;
}): Counter<Measure> {
  if (typeof definition !== 'object' || definition === null)
    throw invalid(
      'expected defineCounter to be given a definition',
      'Write defineCounter({ name: "annotations", scope: "project", entity: "document", measures: ["denotations"] }).',
    );
  const { name, scope, entity, measures, shared = false } = definition;
  if (!isName(name))
    throw invalid(
      `expected the counter name to be 1 to 100 letters, digits, dots, dashes or underscores, got ${JSON.stringify(name)}`,
      'Choose a permanent name: numbers are stored under it.',
    );
  for (const [what, word] of Object.entries({ scope, entity })) {
    if (typeof word !== 'string' || word.trim() === '' || word.length > 100 || !isStorable(word))
      throw invalid(
        `expected ${what} of counter ${name} to be a noun of up to 100 characters, got ${JSON.stringify(word)}`,
        `Name what a ${what} is, for example scope: "project", entity: "document".`,
      );
  }
  if (typeof shared !== 'boolean')
    throw invalid(`expected shared of counter ${name} to be true or false, got ${JSON.stringify(shared)}`);
  if (!Array.isArray(measures) || measures.length === 0 || measures.length > MAX_MEASURES)
    throw invalid(`expected counter ${name} to have 1 to ${MAX_MEASURES} measures`);
  for (const measure of measures as readonly unknown[])
    if (!isName(measure))
      throw invalid(
        `expected the measures of counter ${name} to be names of letters, digits, dots, dashes or underscores, got ${JSON.stringify(measure)}`,
      );
  if (new Set(measures).size < measures.length)
    throw invalid(`expected the measures of counter ${name} to have different names`);
  return Object.freeze({
    [COUNTER]: true as const,
    name,
    scope,
    entity,
    measures: Object.freeze([...measures]),
    shared,
  });
}

export function isCounter(value: unknown): value is Counter {
  return typeof value === 'object' && value !== null && (value as { [COUNTER]?: unknown })[COUNTER] === true;
}

/** Removes duplicates. Throws if definitions of the same name differ; the order of measures does not matter. */
export function distinctCounters(counters: Iterable<Counter>): Counter[] {
  const known = new Map<string, Counter>();
  for (const counter of counters) {
    const other = known.get(counter.name);
    if (other && describe(other) !== describe(counter))
      throw invalid(
        `expected one definition of counter ${counter.name}, got ${describe(other)} and ${describe(counter)}`,
        'Define it once and import it where it is used.',
      );
    known.set(counter.name, counter);
  }
  return [...known.values()];
}

function describe({ scope, entity, measures, shared }: Counter): string {
  return `${[...measures].sort().join(', ')} per ${scope} and ${entity}${shared ? ', shared' : ''}`;
}

/** Validates a count inside the handler's call, so that an error's stack trace points into the handler. */
export function contributionTo(
  counter: Counter,
  key: unknown,
  measured: unknown,
  mode: unknown,
): Contribution {
  const { name } = counter;
  if (!COUNT_MODES.includes(mode as CountMode))
    throw invalid(`expected the mode for counter ${name} to be add or replace, got ${shown(mode)}`);
  if (typeof key !== 'object' || key === null)
    throw invalid(
      `expected counter ${name} to be given { scope, entity }, got ${shown(key)}`,
      `Write context.count(counter, { scope: …, entity: … }, { ${counter.measures[0]}: 1 }).`,
    );
  const { scope, entity } = key as Record<string, unknown>;
  checkKey(name, 'scope', scope);
  checkKey(name, 'entity', entity);
  if (typeof measured !== 'object' || measured === null || Array.isArray(measured))
    throw invalid(`expected counter ${name} to be given numbers by measure, got ${shown(measured)}`);
  const numbers: Record<string, number> = {};
  for (const [measure, number] of Object.entries(measured)) {
    if (!counter.measures.includes(measure))
      throw invalid(
        `expected a measure of counter ${name}, got ${shown(measure)}`,
        `It has ${counter.measures.join(', ')}.`,
      );
    if (number === undefined) continue;
    if (!Number.isSafeInteger(number) || (number as number) < 0)
      throw invalid(
        `expected ${measure} of counter ${name} to be a whole number from 0 to ${MAX_MEASURED}, got ${shown(number)}`,
      );
    numbers[measure] = number as number;
  }
  return {
    counter: name,
    scope: scope as string,
    entity: entity as string,
    mode: mode as CountMode,
    measured: numbers,
  };
}

/** One item's contributions, at most one per (scope, entity) of a counter. */
export class Contributions {
  readonly #byKey = new Map<string, Contribution>();

  add(contribution: Contribution): void {
    const key = contributionKey(contribution);
    const known = this.#byKey.get(key);
    if (!known && this.#byKey.size >= MAX_CONTRIBUTIONS)
      throw invalid(`expected one call to count at most ${MAX_CONTRIBUTIONS} entities`);
    this.#byKey.set(key, known ? mergeContribution(known, contribution) : contribution);
  }

  list(): Contribution[] {
    return [...this.#byKey.values()];
  }
}

/** Merges two contributions of one item to the same (scope, entity), in order. */
function mergeContribution(first: Contribution, second: Contribution): Contribution {
  if (second.mode === 'replace') return second;
  const measured = { ...first.measured };
  for (const [measure, number] of Object.entries(second.measured)) {
    const sum = (measured[measure] ?? 0) + number;
    if (!Number.isSafeInteger(sum))
      throw invalid(
        `expected ${measure} of counter ${first.counter} to stay below ${MAX_MEASURED}, this item adds ${sum}`,
      );
    measured[measure] = sum;
  }
  return { ...first, measured };
}

export function contributionKey({ counter, scope, entity }: Omit<Contribution, 'mode' | 'measured'>): string {
  return `${counter}\u0000${scope}\u0000${entity}`;
}

function checkKey(counter: string, what: keyof CounterKey, value: unknown): void {
  const max = MAX_KEY_BYTES[what];
  if (typeof value !== 'string' || value.trim() === '' || Buffer.byteLength(value) > max)
    throw invalid(
      `expected the ${what} for counter ${counter} to be text of 1 to ${max} bytes, got ${shown(value)}`,
    );
  if (!isStorable(value))
    throw invalid(
      `expected the ${what} for counter ${counter} to be text without NUL characters or unpaired surrogates, got ${shown(value)}`,
    );
}

function isName(value: unknown): value is string {
  // '.' and '..' would be removed from a URL.
  return typeof value === 'string' && /^[\w.-]{1,100}$/.test(value) && !/^\.{1,2}$/.test(value);
}

function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 100));
  if (typeof value === 'number' || typeof value === 'bigint' || value === null || value === undefined)
    return String(value);
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

function invalid(message: string, hint?: string): RowmillError {
  return new RowmillError('COUNTER_INVALID', message, hint === undefined ? {} : { hint });
}
