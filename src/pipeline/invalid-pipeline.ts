// The error for an invalid definition, and names for values in its message.
import { RowmillError } from '../core/errors/rowmill-error.ts';

export function invalidPipeline(message: string, hint?: string): RowmillError {
  return new RowmillError('PIPELINE_INVALID', message, hint === undefined ? {} : { hint });
}

/** Names the kind of an unexpected value in an error message. */
export function kindOfValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
