// A line of the log as people read it: the time, the message, and its values behind it.
import { stripVTControlCharacters } from 'node:util';

const LEVELS: Record<number, string> = { 20: 'debug', 30: '', 40: 'warning', 50: 'error', 60: 'error' };
/** Fields that the line has of its own, or that nobody reads on a terminal. */
const HIDDEN = ['level', 'time', 'msg', 'pid'];
const MAX_VALUE_LENGTH = 300;

/** `json` is a line of pino. */
export function logText(json: string): string {
  const entry = JSON.parse(json) as Record<string, unknown> & { level: number; time: number; msg?: string };
  const at = new Date(entry.time).toTimeString().slice(0, 8);
  const level = LEVELS[entry.level] ?? '';
  const values = Object.entries(entry)
    .filter(([key]) => !HIDDEN.includes(key))
    .map(([key, value]) => `${key}=${shown(value)}`);
  const words = [at, ...(level === '' ? [] : [`${level}:`]), oneLine(entry.msg ?? ''), ...values];
  return `${words.join(' ')}\n`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const line = oneLine(text).slice(0, MAX_VALUE_LENGTH);
  return typeof value === 'string' && /[\s=]|^$/.test(line) ? JSON.stringify(line) : line;
}

/** Values come from outside: none may steer the terminal. */
function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
}
