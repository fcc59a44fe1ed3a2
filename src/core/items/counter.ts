// What a counter is, and what one item contributes to it: pure values. The rules of exactness are in docs/counters.md.
import { RowmillError } from '../errors/rowmill-error.ts';

export const COUNT_MODES = ['add', 'replace'] as const;
export type CountMode = (typeof COUNT_MODES)[number];

/** The most that a measure can hold: up to here numbers are exact in JavaScript and JSON. */
const MAX_MEASURED = Number.MAX_SAFE_INTEGER;
const MAX_MEASURES = 16;
/** Of one call: what it counts is written in one transaction. */
const MAX_CONTRIBUTIONS = 10_000;
/** Together with the owner they have to fit into an index entry of about 2,700 bytes. */
const MAX_KEY_BYTES = { scope: 500, entity: 1000 };

const COUNTER = Symbol.for('rowmill.counter');

/** A checked definition. */
export interface Counter<Measure extends string = string> {
  // A mark instead of a class: the definition may come from another copy of this module.
  readonly [COUNTER]: true;
  readonly name: string;
  /** What a scope is called: project. */
  readonly scope: string;
  /** What an entity is called: document. */
  readonly entity: string;
  readonly measures: readonly Measure[];
  /** One set of numbers for all owners, which all of them see. */
  readonly shared: boolean;
}

/** The owner under whose name the numbers of shared counters stand. No job can belong to it. */
export const EVERYBODY = '*';

export interface CounterKey {
  scope: string;
  entity: string;
}

/** What one item contributes to one (scope, entity). */
export interface Contribution extends CounterKey {
  counter: string;
  mode: CountMode;
  /** By name; measures that are not named are 0. */
  measured: Record<string, number>;
}

/**
 * A rollup that handlers feed with `context.count`: per (scope, entity), per entity over all scopes, and per scope. Name it
 * in the `counters` of the pipelines that feed it; pipelines that name the same counter share it.
 */
export function defineCounter<const Measure extends string>(definition: {
  /** Stays: numbers are stored under it. */
  name: string;
  /** What a scope is called, in the singular: project. */
  scope: string;
  /** What an entity is called, in the singular: document. */
  entity: string;
  /** Names of what is counted. More can be added later; what is left out later keeps its numbers. */
  measures: readonly Measure[];
  /**
   * Jobs of all owners count in the same entries, and everybody who may read counters sees them. Default: each owner has
   * numbers of their own. Stays as it was first registered.
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
      'Choose a name that stays: numbers are stored under it.',
    );
  for (const [what, word] of Object.entries({ scope, entity })) {
    if (typeof word !== 'string' || word.trim() === '' || word.length > 100 || !isStorable(word))
      throw invalid(
        `expected ${what} of counter ${name} to be a word for it, got ${JSON.stringify(word)}`,
        `Say what a ${what} is called: scope: "project", entity: "document".`,
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

/** One of each; refuses definitions of the same name that differ. The order of measures makes no difference. */
export function distinctCounters(counters: Iterable<Counter>): Counter[] {
  const known = new Map<string, Counter>();
  for (const counter of counters) {
    const other = known.get(counter.name);
    if (other && describe(other) !== describe(counter))
      throw invalid(
        `expected one definition of counter ${counter.name}, got ${describe(other)} and ${describe(counter)}`,
        'Define it once and import it where it is fed.',
      );
    known.set(counter.name, counter);
  }
  return [...known.values()];
}

function describe({ scope, entity, measures, shared }: Counter): string {
  return `${[...measures].sort().join(', ')} per ${scope} and ${entity}${shared ? ', shared' : ''}`;
}

/** Checks what a handler counts, while its stack still says where. */
export function contributionTo(
  counter: Counter,
  key: unknown,
  measured: unknown,
  mode: unknown,
): Contribution {
  const { name } = counter;
  if (!COUNT_MODES.includes(mode as CountMode))
    throw invalid(`expected counter ${name} to be fed in the mode add or replace, got ${shown(mode)}`);
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

/** Puts two contributions of one item to the same (scope, entity) together, in their order. */
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
      `expected the ${what} for counter ${counter} to be a text of 1 to ${max} bytes, got ${shown(value)}`,
    );
  if (!isStorable(value))
    throw invalid(
      `expected the ${what} for counter ${counter} to be text, it holds a NUL character or half a surrogate pair: ${shown(value)}`,
    );
}

function isName(value: unknown): value is string {
  // Nothing that an address would fold away.
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
