// Structured logs: a constant message, values as fields. Never cell values, connection strings or secrets.
import { type LevelWithSilent, pino } from 'pino';

export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

/** Writes JSON lines to standard error, so that a command's own output stays clean. */
export function createLogger(level: string = process.env.LOG_LEVEL ?? 'info'): Logger {
  return pino(
    { level: level as LevelWithSilent, base: { pid: process.pid } },
    pino.destination({ dest: 2, sync: true }),
  );
}

export const silentLogger: Logger = pino({ level: 'silent' });
