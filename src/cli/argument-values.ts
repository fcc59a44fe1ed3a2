// Parsers for the values of options and arguments. An invalid value is refused before the command starts.
import { InvalidArgumentError } from 'commander';
import { isKeepDays } from '../core/jobs/retention.ts';
import { isAmount } from '../core/limits/budget.ts';
import { CSV_DELIMITERS, type CsvDelimiter } from '../core/files/output-format.ts';
import { ROW_CHANGES, type RowChange } from '../core/jobs/run-comparison.ts';
import { JOB_STATES, type JobState } from '../core/jobs/job-state.ts';

export function collectSetting(
  pair: string,
  settings: Record<string, unknown> = {},
): Record<string, unknown> {
  const at = pair.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('expected key=value');
  return { ...settings, [pair.slice(0, at)]: pair.slice(at + 1) };
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('expected a whole number from 1');
  return value;
}

export function portNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('expected a port from 0 to 65535');
  return value;
}

export function amountFromZero(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !isAmount(value)) throw new InvalidArgumentError('expected a number from 0');
  return value;
}

/** Returns 'none', not null: Commander would treat null as an empty string. */
export function amountOrNone(text: string): number | 'none' {
  return text === 'none' ? text : amountFromZero(text);
}

export function numberFrom(least: number, isOpen = false): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value) || value < least || (isOpen && value === least))
      throw new InvalidArgumentError(`expected a number ${isOpen ? 'above' : 'from'} ${least}`);
    return value;
  };
}

export function anyInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || Math.abs(value) > 30_000)
    throw new InvalidArgumentError('expected a whole number from -30000 to 30000');
  return value;
}

/** Returns 'none', not null: Commander would treat null as an empty string. */
export function wholeNumberOrNone(text: string): number | 'none' {
  if (text === 'none') return text;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('expected a whole number from 1, or none');
  return value;
}

/** Days, where `forever` is 0. Returns 'default', not null: Commander would treat null as an empty string. */
export function keepTime(text: string): number | 'default' {
  if (text === 'default') return text;
  const days = text === 'forever' ? 0 : Number(text.replace(/d$/, ''));
  if (text.trim() === '' || !isKeepDays(days) || (days === 0 && text !== 'forever'))
    throw new InvalidArgumentError('expected a number of days such as 30, forever or default');
  return days;
}

export function trueOrFalse(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('expected true or false');
  return text === 'true';
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000 };

/** Converts `5s`, `200ms` or `1.5m` to milliseconds. */
export function parseDuration(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError('expected a duration such as 200ms, 5s or 1m');
  return Math.round(Number(number) * UNITS[unit!]!);
}

export function commaSeparated(text: string): string[] {
  return text.split(',').map((each) => each.trim());
}

/** `tab` is easier to type than the character. */
export function csvDelimiter(text: string): CsvDelimiter {
  const delimiter = (text === 'tab' || text === '\\t' ? '\t' : text) as CsvDelimiter;
  if (!CSV_DELIMITERS.includes(delimiter)) throw new InvalidArgumentError('expected , or ; or | or tab');
  return delimiter;
}

export function jobStates(text: string): JobState[] {
  return commaSeparated(text).map((each) => {
    const state = each.toUpperCase() as JobState;
    if (!JOB_STATES.includes(state))
      throw new InvalidArgumentError(`expected one or more of ${JOB_STATES.join(', ')}`);
    return state;
  });
}

export function rowChanges(text: string): RowChange[] {
  return commaSeparated(text).map((each) => {
    const known = ROW_CHANGES.find((change) => change.toLowerCase() === each.toLowerCase());
    if (!known) throw new InvalidArgumentError(`expected one or more of ${ROW_CHANGES.join(', ')}`);
    return known;
  });
}

export function parseJsonObject(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('expected a JSON object such as {"country":"DE"}');
}
