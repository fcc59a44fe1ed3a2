// The one error type of Rowmill. The registry gives each code its status and hint, so that log, HTTP,
// CLI and UI show the same thing and docs/errors.md can be checked against it.
import { ERROR_REGISTRY, type ErrorCode, type RegisteredError } from './error-registry.ts';

export class RowmillError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly status: number;
  /** When another try is of use; null: it would be answered the same. */
  readonly retryAfterMs: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    options?: { hint?: string; cause?: unknown; retryAfterMs?: number },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RowmillError';
    this.code = code;
    // A code may come from another process, another version or a handler: an unknown one must not hide the error itself.
    const entry: RegisteredError = isErrorCode(code) ? ERROR_REGISTRY[code] : ERROR_REGISTRY.INTERNAL_ERROR;
    this.hint = options?.hint ?? entry.hint;
    this.status = entry.status;
    this.retryAfterMs = options?.retryAfterMs ?? entry.retryAfterMs ?? null;
  }
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_REGISTRY, code);
}
