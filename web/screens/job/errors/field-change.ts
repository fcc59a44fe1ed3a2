// Turns a typed change of a field into the request. Fields that are not texts take JSON.
import type { Given } from '../../../../src/client/route-call.ts';
import type { Routes } from '../../../../src/contract/routes.ts';

type Change = Given<Routes['editErrors']>['change'];

/** Null: invalid JSON. */
export function fieldChange(
  field: string,
  typed: { to: string } | { find: string; replace: string },
  isJson: boolean,
): Change | null {
  if ('find' in typed) return { field, ...typed };
  if (!isJson) return { field, to: typed.to };
  try {
    return { field, to: JSON.parse(typed.to) as never };
  } catch {
    return null;
  }
}
