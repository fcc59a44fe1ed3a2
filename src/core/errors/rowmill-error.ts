// The only error class that Rowmill throws. The registry gives each code its status and hint, so log, HTTP, CLI and UI
// show the same, and docs/errors.md can be checked against it.
import { errorDocs } from './error-docs.ts';
import { ERROR_REGISTRY, type ErrorCode, type RegisteredError } from './error-registry.ts';

export class RowmillError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  /** The page and section that explain the code: docs/errors.md#job_not_found. */
  readonly docs: string;
  readonly status: number;
  /** When a retry may succeed; null if it cannot. */
  readonly retryAfterMs: number | null;

  constructor(
    code: ErrorCode,
    message: string,
    options?: { hint?: string; cause?: unknown; retryAfterMs?: number },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'RowmillError';
    this.code = code;
    // Codes can come from another process, another version or a handler: an unknown code must not hide the error
    // itself.
    const known: ErrorCode = isErrorCode(code) ? code : 'INTERNAL_ERROR';
    const entry: RegisteredError = ERROR_REGISTRY[known];
    this.hint = options?.hint ?? entry.hint;
    this.docs = errorDocs(known);
    this.status = entry.status;
    this.retryAfterMs = options?.retryAfterMs ?? entry.retryAfterMs ?? null;
  }
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERROR_REGISTRY, code);
}
