// The one error type of Rowmill. The registry gives each code its status and hint, so that log, HTTP,
// CLI and UI show the same thing and docs/errors.md can be checked against it.
import { ERROR_REGISTRY, type ErrorCode } from './error-registry.ts';

export class RowmillError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly status: number;

  constructor(code: ErrorCode, message: string, options?: { hint?: string; cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RowmillError';
    this.code = code;
    this.hint = options?.hint ?? ERROR_REGISTRY[code].hint;
    this.status = ERROR_REGISTRY[code].status;
  }
}
