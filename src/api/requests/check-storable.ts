// Texts of a request that go to the database as they are. It stores neither NUL nor half a surrogate pair; in rows both are
// replaced, but what names or configures something is refused.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { toStorableJson } from '../../core/items/storable-json.ts';

export function checkStorable(given: unknown): void {
  const stored = toStorableJson(given, Number.POSITIVE_INFINITY, 'fail');
  if (stored.ok) return;
  const [reason] = stored.reason.replace('the result', 'it').split(';');
  throw new RowmillError('REQUEST_INVALID', `the body cannot be stored: ${reason}`);
}
