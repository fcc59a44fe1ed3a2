// The log of a handler call. Lines are written to the log of the process and, except debug lines, stored with the row.
import type { Logger } from '../platform/logger.ts';

/** Writes a line. Fields may come first, as in other structured loggers. */
export interface WriteLine {
  (message: string, fields?: object): void;
  (fields: object, message: string): void;
}

/** `log(message, fields)` writes at level info. */
export interface ItemLog extends Logger, WriteLine {
  readonly debug: WriteLine;
  readonly info: WriteLine;
  readonly warn: WriteLine;
  readonly error: WriteLine;
  child(fields: object): ItemLog;
}
