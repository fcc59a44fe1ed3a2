// Turns a schema issue into a message for row owners: what was expected and what was found. Default messages of schema
// libraries are written for programmers. Messages written by the author of a schema stay unchanged.
import type { StandardSchemaV1 } from '@standard-schema/spec';

/** Fields that libraries provide besides the message; each may be absent. */
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

/** Default messages of schema libraries. */
const UNWORDED =
  /^(Invalid (input\b|option: expected|type: Expected|string: must|number: must|email address$|URL$|UUID$|ISO )|Too (big|small): expected|Unrecognized key|Required$)/;

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a whole number',
  boolean: 'true or false',
  date: 'a date',
  array: 'a list',
  tuple: 'a list',
  set: 'a list',
  object: 'an object',
  record: 'an object',
  map: 'an object',
  null: 'null',
  undefined: 'nothing',
};

const FORMATS: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL such as https://example.com',
  uuid: 'a UUID',
  guid: 'a UUID',
  date: 'a date such as 2026-01-31',
  datetime: 'a date and time such as 2026-01-31T12:00:00Z',
  time: 'a time such as 12:30:00',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  json_string: 'JSON',
};

export interface IssueWordsOptions {
  /** Includes the found value. False if it may be a secret: then only its type is shown. */
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
  // For unknown keys and empty text, the expectation says enough.
  if ((issue as Issue).code === 'unrecognized_keys' || value === '') return `expected ${expected}`;
  // If the type is right, for example text that is too short, naming the type adds nothing.
  const isOfKind = !options.showsValue && (issue as Issue).code !== 'invalid_type' && value !== undefined;
  if (isOfKind) return `expected ${expected}`;
  return `expected ${expected}, got ${got}${options.showsValue ? decimalWords(issue, value) : ''}`;
}

const DECIMAL_COMMA = /^[+-]?\d{1,15},\d{1,15}$/;
/** 1,000 is more likely a thousand than one. */
const THOUSANDS = /^[+-]?[1-9]\d{0,2},\d{3}$/;

/** Advice for a number with a decimal comma. */
function decimalWords({ expected }: Issue, value: unknown): string {
  if (expected !== 'number' || typeof value !== 'string') return '';
  const text = value.trim();
  if (!DECIMAL_COMMA.test(text) || THOUSANDS.test(text)) return '';
  return `; write decimals with a point: ${valueWords(text.replace(',', '.'))}`;
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
      return `no field ${(issue.keys as string[]).map((key) => valueWords(key)).join(', ')}`;
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
    if (one && words === 'at least') return 'non-empty text';
    return `${words} ${at} ${one ? 'character' : 'characters'}`;
  }
  if (origin === 'array' || origin === 'set') return `${words} ${at} ${one ? 'entry' : 'entries'}`;
  return `${origin === 'date' ? 'a date of ' : ''}${words} ${at}`;
}

function formatWords({ format, pattern, prefix, suffix, includes }: Issue): string | null {
  if (format === 'starts_with') return `text that starts with ${valueWords(prefix)}`;
  if (format === 'ends_with') return `text that ends with ${valueWords(suffix)}`;
  if (format === 'includes') return `text that contains ${valueWords(includes)}`;
  if (format === 'regex') return `text that matches ${String(pattern)}`;
  return FORMATS[String(format)] ?? null;
}

/** Null unless each alternative expects a single kind of value. */
function unionWords({ errors }: Issue): string | null {
  if (!Array.isArray(errors) || errors.length === 0) return null;
  const kinds = (errors as Issue[][]).map((issues) =>
    issues.length === 1 && (issues[0]!.path ?? []).length === 0 ? expectedWords(issues[0]!) : null,
  );
  return kinds.every((kind) => kind !== null) ? [...new Set(kinds)].join(' or ') : null;
}

/** Marks a value that is not part of the input: the schema derived it, for example by splitting text at commas. */
const UNSEEN = Symbol('unseen');

function valueAt(input: unknown, { path = [] }: StandardSchemaV1.Issue): unknown {
  return path.reduce<unknown>((at, part) => {
    const key = typeof part === 'object' ? part.key : part;
    if (at === undefined || at === null) return undefined;
    return typeof at === 'object' ? (at as Record<PropertyKey, unknown>)[key] : UNSEEN;
  }, input);
}

/** Puts text in double quotes, so that errors with different values form one group. */
function valueWords(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') {
    if (value === '') return 'empty text';
    const text = value.replace(/\s+/g, ' ').replaceAll('"', "'");
    return `"${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE - 1).toWellFormed()}…` : text}"`;
  }
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid date' : value.toISOString();
  return value !== null && typeof value === 'object' ? 'an object' : String(value);
}

function kindWords(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  return KINDS[typeof value] ?? typeof value;
}
