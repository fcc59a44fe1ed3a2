// The refusal of a definition, and words for the value that was given.
import { RowmillError } from '../core/errors/rowmill-error.ts';

export function invalidPipeline(message: string, hint?: string): RowmillError {
  return new RowmillError('PIPELINE_INVALID', message, hint === undefined ? {} : { hint });
}

/** For people: what they gave in place of what was expected. */
export function kindOfValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
