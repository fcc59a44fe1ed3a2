// Refuses text that PostgreSQL cannot store: NUL, or half a surrogate pair. In rows both are replaced; in names and
// configuration they are refused.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { toStorableJson } from '../../core/items/storable-json.ts';

export function checkStorable(given: unknown): void {
  const stored = toStorableJson(given, Number.POSITIVE_INFINITY, 'fail');
  if (stored.ok) return;
  const [reason] = stored.reason.replace('the result', 'it').split(';');
  throw new RowmillError('REQUEST_INVALID', `the body cannot be stored: ${reason}`);
}
