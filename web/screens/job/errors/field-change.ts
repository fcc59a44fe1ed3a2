// What was typed as a change of a field, as the server takes it. A value that was no text before is JSON.
import type { Given } from '../../../../src/client/route-call.ts';
import type { Routes } from '../../../../src/contract/routes.ts';

type Change = Given<Routes['editErrors']>['change'];

/** Null: it should be JSON, and is not. */
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
