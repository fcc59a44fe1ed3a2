// What a schema found wrong, as a sentence: what is expected, and what is there instead. Libraries word it for programmers;
// messages that the author of a schema wrote stay as they are.
import type { StandardSchemaV1 } from '@standard-schema/spec';

/** What libraries tell besides the message; all of it may be absent. */
type Issue = StandardSchemaV1.Issue & {
  code?: unknown;
  expected?: unknown;
  received?: unknown;
  origin?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  inclusive?: unknown;
  format?: unknown;
  pattern?: unknown;
  prefix?: unknown;
  suffix?: unknown;
  includes?: unknown;
  divisor?: unknown;
  values?: unknown;
  keys?: unknown;
  errors?: unknown;
};

const MAX_VALUE = 60;
const MAX_CHOICES = 10;

/** How libraries word what nobody worded for them. */
const UNWORDED =
  /^(Invalid (input\b|option: expected|type: Expected|string: must|number: must|email address$|URL$|UUID$|ISO )|Too (big|small): expected|Unrecognized key|Required$)/;

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  date: 'a date',
  array: 'a list',
  tuple: 'a list',
  set: 'a list',
  object: 'an object with fields',
  record: 'an object with fields',
  map: 'an object with fields',
  null: 'null',
  undefined: 'nothing',
};

const FORMATS: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'an address such as https://example.com',
  uuid: 'a UUID',
  guid: 'a UUID',
  date: 'a day such as 2026-01-31',
  datetime: 'a time such as 2026-01-31T12:00:00Z',
  time: 'a time of day such as 12:30:00',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  json_string: 'JSON',
};

export interface IssueWordsOptions {
  /** Say the value that is there. Not where it may be a secret: then only of what kind it is. */
  showsValue: boolean;
}

export function issueWords(
  issue: StandardSchemaV1.Issue,
  input: unknown,
  options: IssueWordsOptions,
): string {
  if (!UNWORDED.test(issue.message)) return issue.message;
  const expected = expectedWords(issue);
  if (expected === null) return issue.message;
  const value = valueAt(input, issue);
  if (value === UNSEEN) return `expected ${expected}`;
  const got =
    options.showsValue || value === undefined || value === null ? valueWords(value) : kindWords(value);
  // What is expected says as much.
  if ((issue as Issue).code === 'unrecognized_keys' || value === '') return `expected ${expected}`;
  // A text that is too short is no other kind of thing.
  const isOfKind = !options.showsValue && (issue as Issue).code !== 'invalid_type' && value !== undefined;
  return isOfKind ? `expected ${expected}` : `expected ${expected}, got ${got}`;
}

function expectedWords(issue: Issue): string | null {
  switch (issue.code) {
    case 'invalid_type':
      return kindOf(issue.expected);
    case 'invalid_value':
      return Array.isArray(issue.values) ? choiceWords(issue.values) : null;
    case 'too_small':
      return boundWords(issue, issue.minimum, issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return boundWords(issue, issue.maximum, issue.inclusive === false ? 'less than' : 'at most');
    case 'invalid_format':
      return formatWords(issue);
    case 'not_multiple_of':
      return `a multiple of ${String(issue.divisor)}`;
    case 'unrecognized_keys':
      return `no field ${(issue.keys as string[]).map((key) => valueWords(key)).join(', ')} here`;
    case 'invalid_union':
      return unionWords(issue);
    case undefined:
      return typeof issue.expected === 'string' ? (KINDS[issue.expected] ?? issue.expected) : null;
    default:
      return null;
  }
}

function kindOf(expected: unknown): string | null {
  return KINDS[String(expected)] ?? null;
}

function choiceWords(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_CHOICES).map(valueWords).join(', ');
  if (values.length === 1) return shown;
  return values.length > MAX_CHOICES
    ? `one of ${shown} and ${values.length - MAX_CHOICES} more`
    : `one of ${shown}`;
}

function boundWords({ origin }: Issue, bound: unknown, words: string): string {
  const at = bound instanceof Date ? bound.toISOString() : String(bound);
  const one = at === '1';
  if (origin === 'string') {
    if (one && words === 'at least') return 'a text that is not empty';
    return `${words} ${at} ${one ? 'character' : 'characters'}`;
  }
  if (origin === 'array' || origin === 'set') return `${words} ${at} ${one ? 'entry' : 'entries'}`;
  return `${origin === 'date' ? 'a date of ' : ''}${words} ${at}`;
}

function formatWords({ format, pattern, prefix, suffix, includes }: Issue): string | null {
  if (format === 'starts_with') return `a text that begins with ${valueWords(prefix)}`;
  if (format === 'ends_with') return `a text that ends with ${valueWords(suffix)}`;
  if (format === 'includes') return `a text with ${valueWords(includes)} in it`;
  if (format === 'regex') return `a text of the form ${String(pattern)}`;
  return FORMATS[String(format)] ?? null;
}

/** Where each of the possible forms is one kind of value. */
function unionWords({ errors }: Issue): string | null {
  if (!Array.isArray(errors) || errors.length === 0) return null;
  const kinds = (errors as Issue[][]).map((issues) =>
    issues.length === 1 && (issues[0]!.path ?? []).length === 0 ? expectedWords(issues[0]!) : null,
  );
  return kinds.every((kind) => kind !== null) ? [...new Set(kinds)].join(' or ') : null;
}

/** A schema made parts of a value before it looked at them, such as a list of a text with commas. */
const UNSEEN = Symbol('unseen');

function valueAt(input: unknown, { path = [] }: StandardSchemaV1.Issue): unknown {
  return path.reduce<unknown>((at, part) => {
    const key = typeof part === 'object' ? part.key : part;
    if (at === undefined || at === null) return undefined;
    return typeof at === 'object' ? (at as Record<PropertyKey, unknown>)[key] : UNSEEN;
  }, input);
}

/** Texts stand in double quotes, so that errors of many rows are one group whatever their values are. */
function valueWords(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') {
    if (value === '') return 'an empty text';
    const text = value.replace(/\s+/g, ' ').replaceAll('"', "'");
    return `"${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE - 1).toWellFormed()}…` : text}"`;
  }
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'no date' : value.toISOString();
  return value !== null && typeof value === 'object' ? 'an object with fields' : String(value);
}

function kindWords(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return KINDS[typeof value] ?? typeof value;
}
