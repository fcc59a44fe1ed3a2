// Structured logs: a constant message, values as fields. Never cell values, connection strings or secrets.
import { type LevelWithSilent, pino } from 'pino';

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

/** Writes JSON lines to standard error, so that a command's own output stays clean, or hands them over. */
export function createLogger(level: string = logLevelOr('info'), write?: (line: string) => void): Logger {
  return pino(
    { level: level as LevelWithSilent, base: { pid: process.pid } },
    write ? { write } : pino.destination({ dest: 2, sync: true }),
  );
}

export const silentLogger: Logger = pino({ level: 'silent' });
