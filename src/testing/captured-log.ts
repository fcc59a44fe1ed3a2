// A logger that keeps the log lines of handlers for a test.
import type { Logger } from '../platform/logger.ts';

export interface LogEntry {
  /** In virtual time since the start of the run; null on a database. */
  atMs: number | null;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  /** Null on a database. */
  phase: string | null;
  /** Includes jobId, seq and attempt, as in production. */
  fields: Record<string, unknown>;
}

export function capturedLog(
  write: (entry: Omit<LogEntry, 'atMs'>) => void,
  phase: string | null,
  inherited: object = {},
): Logger {
  const at =
    (level: LogEntry['level']) =>
    (fields: object, message: string): void =>
      write({ level, message, phase, fields: { ...inherited, ...fields } });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => capturedLog(write, phase, { ...inherited, ...fields }),
  };
}
