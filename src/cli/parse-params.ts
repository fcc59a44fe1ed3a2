// What --params gives: a JSON object for the pipeline's own schema.
import { RowmillError } from '../core/rowmill-error.ts';

export function parseParams(text: string): unknown {
  try {
    const params: unknown = JSON.parse(text);
    if (params !== null && typeof params === 'object' && !Array.isArray(params)) return params;
  } catch {
    // Said below.
  }
  throw new RowmillError(
    'REQUEST_INVALID',
    `expected --params to be a JSON object, got ${text.slice(0, 80)}`,
  );
}
