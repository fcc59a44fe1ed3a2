// Structured logs: a constant message with values as fields. Cell values, connection strings and secrets are never
// logged.
import { type LevelWithSilent, pino } from 'pino';
import { logText } from './log-text.ts';

export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
  /** Absent: all levels are written. */
  isLevelEnabled?(level: string): boolean;
}

/** The level that LOG_LEVEL sets, or this one. */
export function logLevelOr(level: string): string {
  return process.env.LOG_LEVEL || level;
}

/**
 * Writes JSON lines, or text with LOG_FORMAT=text, to standard error by default, so that standard output stays clean.
 */
export function createLogger(
  level: string = logLevelOr('info'),
  write: (line: string) => void = toStandardError(),
): Logger {
  const options = { level: level as LevelWithSilent, base: { pid: process.pid } };
  if (process.env.LOG_FORMAT !== 'text') return pino(options, { write });
  return pino(options, { write: (line: string) => write(logText(line)) });
}

function toStandardError(): (line: string) => void {
  const destination = pino.destination({ dest: 2, sync: true });
  return (line) => void destination.write(line);
}

/** Sets LOG_FORMAT to text for this process and its children, unless it is set already. */
export function logForPeople(): void {
  process.env.LOG_FORMAT ??= 'text';
}
