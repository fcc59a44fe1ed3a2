// A line of the log as people read it: the time, the message, and its values behind it.
import { stripVTControlCharacters } from 'node:util';

const LEVELS: Record<number, string> = { 20: 'debug', 30: '', 40: 'warning', 50: 'error', 60: 'error' };
/** Fields that the line has of its own, or that nobody reads on a terminal. */
const HIDDEN = ['level', 'time', 'msg', 'pid'];
const MAX_VALUE_LENGTH = 300;

/** As commands take them: the beginning of an id is enough. */
const ID = /^([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const DIGITS = 4;

/** `json` is a line of pino. */
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

/** An object is a field for each of its values; what has no value is left out. */
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

/** Values come from outside: none may steer the terminal. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
}
