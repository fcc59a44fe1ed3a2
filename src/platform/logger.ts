// Structured logs: a constant message, values as fields. Never cell values, connection strings or secrets.
import { type LevelWithSilent, pino } from 'pino';
import { logText } from './log-text.ts';

export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

/** The level that the environment asks for, or else this one. */
export function logLevelOr(level: string): string {
  return process.env.LOG_LEVEL || level;
}

/**
 * Writes to standard error, so that a command's own output stays clean, or hands lines over: JSON, or text with
 * LOG_FORMAT=text.
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

/** From here on, and in processes that this one starts. A format that was chosen stays. */
export function logForPeople(): void {
  process.env.LOG_FORMAT ??= 'text';
}

export const silentLogger: Logger = pino({ level: 'silent' });
