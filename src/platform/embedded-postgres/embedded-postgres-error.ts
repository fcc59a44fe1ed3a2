// Errors of the embedded server, each with a specific hint.
import type { ErrorCode } from '../../core/errors/error-registry.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';

export type EmbeddedPostgresErrorCode = Extract<ErrorCode, `EMBEDDED_POSTGRES_${string}`>;

export class EmbeddedPostgresError extends RowmillError {
  constructor(code: EmbeddedPostgresErrorCode, message: string, hint: string, options?: ErrorOptions) {
    super(code, message, { hint, cause: options?.cause });
    this.name = 'EmbeddedPostgresError';
  }
}
