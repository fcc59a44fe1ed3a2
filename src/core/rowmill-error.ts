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
    // A code may come from another process, another version or a handler: an unknown one must not hide the error itself.
    const entry = isErrorCode(code) ? ERROR_REGISTRY[code] : ERROR_REGISTRY.INTERNAL_ERROR;
    this.hint = options?.hint ?? entry.hint;
    this.status = entry.status;
  }
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_REGISTRY, code);
}
