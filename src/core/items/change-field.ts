// One change of one field, for many rows alike. Pure: what a row would become, or null when it would stay as it is.

export type FieldChange =
  /** The field gets this value, whether the row had it or not. */
  | { field: string; to: unknown }
  /** Every occurrence of a text in the field, as it is written; values that are no text stay. */
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
  // An own property, whatever it is called.
  Object.defineProperty(changed, field, {
    value: after,
    enumerable: true,
    configurable: true,
    writable: true,
  });
  return changed;
}

function replaced(value: unknown, find: string, replace: string): unknown {
  // A function: '$&' and the like are no patterns.
  return typeof value === 'string' && find !== '' ? value.replaceAll(find, () => replace) : undefined;
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
