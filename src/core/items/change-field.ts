// Applies one change of one field to a row's input. Returns the changed row, or null if it would stay the same.

export type FieldChange =
  /** Sets the field to this value, even if the row does not have it. */
  | { field: string; to: unknown }
  /** Replaces every literal occurrence of a text in the field. Values that are not text stay. */
  | { field: string; find: string; replace: string };

export function changeField(
  input: Readonly<Record<string, unknown>>,
  change: FieldChange,
): Record<string, unknown> | null {
  const { field } = change;
  const before = Object.hasOwn(input, field) ? input[field] : undefined;
  const after = 'find' in change ? replaced(before, change.find, change.replace) : change.to;
  if (after === undefined || isEqual(before, after)) return null;
  const changed: Record<string, unknown> = { ...input };
  // Defined as an own property, because the field may be named __proto__.
  Object.defineProperty(changed, field, {
    value: after,
    enumerable: true,
    configurable: true,
    writable: true,
  });
  return changed;
}

function replaced(value: unknown, find: string, replace: string): unknown {
  // A function, so that '$&' and similar patterns are literal.
  return typeof value === 'string' && find !== '' ? value.replaceAll(find, () => replace) : undefined;
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
