// Maps the columns of a file to the fields of the pipeline's input, and decides under which key each column is stored.
// Matches names exactly; then without case, blanks and punctuation; then without accents; then by a table of synonyms.
// After the first step only unambiguous matches are used; other matches and near misses are suggested.
import { findMeaning } from './column-synonyms.ts';
import { editDistance } from '../errors/edit-distance.ts';
import { foldName, plainName } from './fold-name.ts';
import type { InputColumn } from '../items/input-column.ts';
import { RowmillError } from '../errors/rowmill-error.ts';
import { toStorableText } from '../items/storable-json.ts';

export interface InputField {
  name: string;
  required: boolean;
}

export interface ColumnMapping {
  /** One per column of the file; null: not stored. */
  columns: (InputColumn | null)[];
  /** Headers of Rowmill's error columns, which a file of unsuccessful rows contains. */
  ignored: string[];
  /** Fields without a column, all of them optional. */
  unmapped: string[];
  /** Why each field has its column. */
  matches: Map<string, 'given' | 'sure' | 'likely'>;
}

/** In a mapping by a person: the field gets no column. */
export const NO_COLUMN = '';

const MAX_SUGGESTIONS = 3;
/** Headers that only Rowmill writes. */
const RESERVED = /^rowmill_(status|error|error_class|attempts|parent)$/;

export function isReservedColumn(header: string): boolean {
  return RESERVED.test(header);
}

export function mapColumns(
  headers: string[],
  fields: InputField[] | null,
  /** Header by field, as given by a person. */
  given: Record<string, string> = {},
): ColumnMapping {
  const fieldOf = new Map<number, string>();
  const ignored = headers.filter(isReservedColumn);
  const free = (index: number): boolean => !fieldOf.has(index) && !isReservedColumn(headers[index]!);
  const take = (name: string, wanted: string): boolean => {
    const index = headers.findIndex((header, at) => free(at) && header === wanted);
    if (index >= 0) fieldOf.set(index, name);
    return index >= 0;
  };

  const matches: ColumnMapping['matches'] = new Map();
  for (const name of Object.keys(given)) checkField(name, fields);
  const said = Object.entries(given)
    .filter(([, wanted]) => wanted !== NO_COLUMN)
    .map(([name, wanted]) => ({ name, wanted }));
  const notFound = takeBySimilarity(
    said.filter(({ name, wanted }) => !take(name, wanted)),
    SAME_WORDS,
    { headers, fieldOf, free },
  );
  if (notFound.length > 0) throw missing(notFound.slice(0, 1), headers);
  for (const { name } of said) matches.set(name, 'given');
  const open = (fields ?? []).filter(({ name }) => !Object.hasOwn(given, name));
  const left = open.filter(({ name }) => !take(name, name));
  const similar = takeBySimilarity(
    left.map((field) => ({ ...field, wanted: field.name })),
    SAME_WORDS,
    { headers, fieldOf, free },
  );
  const lacking = takeBySimilarity(similar, [meaningForms], { headers, fieldOf, free });
  for (const { name } of open) if (!similar.some((field) => field.name === name)) matches.set(name, 'sure');
  for (const { name } of similar)
    if (!lacking.some((field) => field.name === name)) matches.set(name, 'likely');
  const unwanted = (fields ?? []).filter(({ name }) => given[name] === NO_COLUMN);
  const none = [...lacking, ...unwanted.map((field) => ({ ...field, wanted: field.name }))];
  const required = none.filter((field) => field.required);
  if (required.length > 0) throw missing(required, headers);
  const unmapped = none.map(({ name }) => name);
  const columns = nameColumns(headers, fieldOf, new Set(unwanted.map(({ name }) => name)));
  return { columns, ignored, unmapped, matches };
}

/** Names match if they have a form in common. */
type FormsOf = (name: string) => (string | number)[];

const plainForms: FormsOf = (name) => [plainName(name)].filter((form) => form !== '');
const meaningForms: FormsOf = (name) => {
  const meaning = findMeaning(name);
  return meaning === null ? [] : [meaning];
};
const SAME_WORDS: FormsOf[] = [plainForms, foldName];

interface Columns {
  headers: string[];
  fieldOf: Map<number, string>;
  free: (index: number) => boolean;
}

/** Maps a field to a column if they match only each other, by each kind of similarity in turn. Returns the rest. */
function takeBySimilarity<Field extends { name: string; wanted: string }>(
  fields: Field[],
  kinds: FormsOf[],
  { headers, fieldOf, free }: Columns,
): Field[] {
  let left = fields;
  for (const formsOf of kinds) {
    if (left.length === 0) break;
    const columns = groupByForm(headers, (header, index) => (free(index) ? formsOf(header) : []));
    const rivals = groupByForm(left, ({ wanted }) => formsOf(wanted));
    left = left.filter(({ name, wanted }) => {
      const forms = formsOf(wanted);
      const alike = new Set(forms.flatMap((form) => columns.get(form) ?? []));
      const [index] = alike;
      const isAlone = forms.every((form) => rivals.get(form)!.length === 1);
      if (index === undefined || alike.size > 1 || !isAlone) return true;
      fieldOf.set(index, name);
      return false;
    });
  }
  return left;
}

/** Positions of names, by form. */
function groupByForm<Name>(
  names: readonly Name[],
  formsOf: (name: Name, index: number) => (string | number)[],
): Map<string | number, number[]> {
  const groups = new Map<string | number, number[]>();
  for (const [index, name] of names.entries()) {
    for (const form of formsOf(name, index)) {
      const group = groups.get(form);
      if (group === undefined) groups.set(form, [index]);
      else group.push(index);
    }
  }
  return groups;
}

/** Gives each column a unique key: an empty header gets its position, a repeated one a number. No column is lost. */
function nameColumns(
  headers: string[],
  fieldOf: Map<number, string>,
  unwanted: ReadonlySet<string>,
): (InputColumn | null)[] {
  const used = new Set([...fieldOf.values(), ...unwanted]);
  /** Next number for each repeated header. Counting from 2 every time would take quadratic time. */
  const numbers = new Map<string, number>();
  return headers.map((given, index) => {
    if (isReservedColumn(given)) return null;
    const header = storableHeader(given);
    const field = fieldOf.get(index);
    if (field !== undefined) return { key: field, header };
    const base = header.trim() || `column_${index + 1}`;
    let key = base;
    let number = numbers.get(base) ?? 2;
    for (; used.has(key); number += 1) key = `${base}_${number}`;
    numbers.set(base, number);
    used.add(key);
    return { key, header };
  });
}

/** PostgreSQL accepts neither NUL nor unpaired surrogates, in names as in values. */
export function storableHeader(header: string): string {
  return toStorableText(header, Number.POSITIVE_INFINITY);
}

function checkField(name: string, fields: InputField[] | null): void {
  if (fields === null || fields.some((field) => field.name === name)) return;
  const near = nearest(
    name,
    fields.map((field) => field.name),
  );
  throw new RowmillError(
    'FILE_OPTION_INVALID',
    `the pipeline's input has no field ${name}${near === null ? '' : `, did you mean ${near}?`}`,
    { hint: `It has ${fields.map((field) => field.name).join(', ')}.` },
  );
}

function missing(wanted: { name: string; wanted: string }[], headers: string[]): RowmillError {
  const lines = wanted.map(({ name, wanted: header }) => {
    const near = nearest(header, headers);
    return near === null ? name : `${name} (did you mean ${JSON.stringify(near)}?)`;
  });
  const seen = headers.slice(0, 20).map((header) => JSON.stringify(header));
  const more = headers.length > 20 ? ` and ${headers.length - 20} more` : '';
  const options = wanted.map(({ name, wanted: header }) => {
    const near = nearest(header, headers);
    return `--map ${name}=${near === null ? '<column>' : JSON.stringify(near)}`;
  });
  return new RowmillError(
    'COLUMNS_MISSING',
    `expected a column for ${lines.join(', ')}; the file has ${seen.join(', ')}${more}`,
    { hint: `Map the columns, or rename them in the file: ${options.join(' ')}` },
  );
}

function nearest(name: string, candidates: string[]): string | null {
  return suggestColumns(name, candidates)[0] ?? null;
}

/** Columns that a name may refer to, the most likely first. */
export function suggestColumns(name: string, candidates: readonly string[]): string[] {
  const wanted = plainFold(name);
  const meaning = findMeaning(name);
  const near: { candidate: string; distance: number }[] = [];
  for (const candidate of candidates.slice(0, 2000)) {
    const plain = plainFold(candidate);
    if (meaning !== null && findMeaning(candidate) === meaning) {
      near.push({ candidate, distance: 0 });
      continue;
    }
    if (plain === '' || Math.abs(plain.length - wanted.length) > 40) continue;
    const contains =
      plain.length > 2 && wanted.length > 2 && (plain.includes(wanted) || wanted.includes(plain));
    const distance = contains ? 1 : editDistance(wanted, plain);
    if (distance <= Math.max(1, wanted.length / 3)) near.push({ candidate, distance });
  }
  return near
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ candidate }) => candidate);
}

function plainFold(name: string): string {
  return foldName(name)[0] ?? '';
}
