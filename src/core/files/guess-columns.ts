// Guesses columns for the fields that mapColumns left without one: by words of the name, and by whether the values of
// a column satisfy the field. Only a person uses guesses: a preview shows each with its confidence, and a job is created
// with those that the person kept.
import { editDistance } from '../errors/edit-distance.ts';
import { findMeaning } from './column-synonyms.ts';
import { foldName } from './fold-name.ts';
import { type InputField, isReservedColumn } from './map-columns.ts';

/** `given`: chosen by a person. `sure`: the same name. `likely`: a synonym or a longer name, with values that fit. */
export type MatchConfidence = 'given' | 'sure' | 'likely' | 'guess';

export interface GuessedColumn {
  column: number;
  confidence: 'likely' | 'guess';
}

/** Share of the values of a column that the field accepts; null if unknown. */
export type FitOf = (field: string, column: number) => number | null;

const MIN_FIT = 0.5;
const GOOD_FIT = 0.8;
/** A column without a similar name must fit this well, and some other column at most MIN_FIT. */
const ALONE_FIT = 0.9;
const MAX_COLUMNS = 2000;
/** Words that say nothing about the content of a column. */
const FILLERS = new Set('of the a an der die das des den von de la le les el los del du no nr'.split(' '));

export function guessColumns(
  headers: readonly string[],
  fields: readonly InputField[],
  taken: ReadonlySet<number>,
  fitOf: FitOf,
): Map<string, GuessedColumn> {
  const guessed = new Map<string, GuessedColumn>();
  const free = new Set(
    headers
      .slice(0, MAX_COLUMNS)
      .flatMap((header, at) => (taken.has(at) || isReservedColumn(header) ? [] : [at])),
  );
  const take = (name: string, found: GuessedColumn | null): void => {
    if (found === null) return;
    guessed.set(name, found);
    free.delete(found.column);
  };
  // Required fields choose first, names before values.
  const ordered = [...fields].sort((a, b) => Number(b.required) - Number(a.required));
  for (const { name } of ordered) take(name, byName(name, headers, free, fitOf));
  for (const { name, required } of ordered)
    if (required && !guessed.has(name)) take(name, byValues(name, headers, free, fitOf));
  return guessed;
}

/** The column with the most similar name; null if two are equally good. */
function byName(
  name: string,
  headers: readonly string[],
  free: ReadonlySet<number>,
  fitOf: FitOf,
): GuessedColumn | null {
  const rated = [...free]
    .map((column) => ({ column, likeness: likeness(name, headers[column]!), fit: fitOf(name, column) }))
    .filter(({ likeness, fit }) => likeness > 0 && (fit ?? 1) >= MIN_FIT)
    .sort((a, b) => b.likeness - a.likeness || (b.fit ?? 0) - (a.fit ?? 0));
  const [best, next] = rated;
  if (best === undefined) return null;
  if (next !== undefined && next.likeness === best.likeness && next.fit === best.fit) return null;
  const isLikely = best.likeness >= SAME_WORDS && best.fit !== null && best.fit >= GOOD_FIT;
  return { column: best.column, confidence: isLikely ? 'likely' : 'guess' };
}

/** The only column whose values the field accepts, if it refuses those of another one. */
function byValues(
  name: string,
  headers: readonly string[],
  free: ReadonlySet<number>,
  fitOf: FitOf,
): GuessedColumn | null {
  const isPicky = headers.some((_, column) => (fitOf(name, column) ?? 1) < MIN_FIT);
  const fitting = [...free].filter((column) => (fitOf(name, column) ?? 0) >= ALONE_FIT);
  return isPicky && fitting.length === 1 ? { column: fitting[0]!, confidence: 'guess' } : null;
}

const SAME_WORDS = 2;
const SIMILAR = 1;

/** 0: no similarity. */
function likeness(name: string, header: string): number {
  const wanted = wordsOf(name);
  const words = wordsOf(header);
  if (wanted.length === 0 || words.length === 0) return 0;
  if (includesAll(words, wanted) || includesAll(wanted, words)) return SAME_WORDS;
  const meaning = findMeaning(name);
  if (meaning !== null && partsOf(words).some((part) => findMeaning(part) === meaning)) return SAME_WORDS;
  const [a, b] = [wanted.join(''), words.join('')];
  if (Math.abs(a.length - b.length) > a.length / 3) return 0;
  return editDistance(a, b) <= Math.max(1, a.length / 4) && a.length > 2 ? SIMILAR : 0;
}

function wordsOf(name: string): string[] {
  return name
    .slice(0, 200)
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => foldName(word)[0] ?? '')
    .filter((word) => word !== '' && !FILLERS.has(word));
}

/** Single words, and pairs of neighbours: "postal code" has a meaning that neither word has. */
function partsOf(words: readonly string[]): string[] {
  return [...words, ...words.slice(1).map((word, at) => words[at]! + word)];
}

function includesAll(words: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((word) => words.includes(word));
}
