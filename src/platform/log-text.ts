// Formats a log line for people: time, message, then the values.
import { stripVTControlCharacters } from 'node:util';

const LEVELS: Record<number, string> = { 20: 'debug', 30: '', 40: 'warning', 50: 'error', 60: 'error' };
/** Fields that the line already shows, or that are of no use on a terminal. */
const HIDDEN = ['level', 'time', 'msg', 'pid'];
const MAX_VALUE_LENGTH = 300;

/** Ids are shortened to their first 8 digits, which commands accept. */
const ID = /^([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const DIGITS = 4;

/** `json` is one line of pino output. */
export function logText(json: string): string {
  const entry = JSON.parse(json) as Record<string, unknown> & { level: number; time: number; msg?: string };
  const at = new Date(entry.time).toTimeString().slice(0, 8);
  const level = LEVELS[entry.level] ?? '';
  const values = Object.entries(entry)
    .filter(([key]) => !HIDDEN.includes(key))
    .flatMap(([key, value]) => fieldsOf(key, value));
  const words = [at, ...(level === '' ? [] : [`${level}:`]), oneLine(entry.msg ?? ''), ...values];
  return `${words.join(' ')}\n`;
}

/** An object becomes one field per value. Null and undefined are left out. */
function fieldsOf(key: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object' || Array.isArray(value)) return [`${key}=${shown(value)}`];
  return Object.entries(value)
    .filter(([, inner]) => inner !== null)
    .map(([inner, of]) => `${oneLine(`${key}.${inner}`).slice(0, MAX_VALUE_LENGTH)}=${shown(of)}`);
}

function shown(value: unknown): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(DIGITS)));
  const isList = Array.isArray(value) && value.every((each) => typeof each !== 'object');
  const text = isList ? value.join(',') : typeof value === 'string' ? value : JSON.stringify(value);
  const line = oneLine(text).slice(0, MAX_VALUE_LENGTH).replace(ID, '$1');
  return (isList || typeof value === 'string') && /[\s=]|^$/.test(line) ? JSON.stringify(line) : line;
}

/** Removes terminal control sequences: values are untrusted. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
}
