// Turns an input into form fields and back. Texts stay as typed; everything else is edited as JSON.

/** Shown when a JSON field does not hold valid JSON. */
export const JSON_HINT = 'Enter JSON here, e.g. 5, true, null, "text", [ ] or { }';

export interface InputField {
  key: string;
  text: string;
  /** Edited as JSON, because the value is not a text. */
  isJson: boolean;
}

/** Null: the input is not an object. */
export function inputFields(input: unknown, columns: readonly string[]): InputField[] | null {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return null;
  const record = input as Record<string, unknown>;
  // Columns of the file first, in their order, then the other fields.
  const keys = [...new Set([...columns.filter((key) => Object.hasOwn(record, key)), ...Object.keys(record)])];
  return keys.map((key) => {
    const value = record[key];
    return typeof value === 'string'
      ? { key, text: value, isJson: false }
      : { key, text: JSON.stringify(value), isJson: true };
  });
}

export type EditedInput =
  | { input: Record<string, never>; problems: null }
  | { input: null; problems: Record<string, string> };

export function editedInput(fields: readonly InputField[]): EditedInput {
  const input: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const { key, text, isJson } of fields) {
    try {
      // Defines an own property, even for names such as __proto__.
      Object.defineProperty(input, key, {
        value: isJson ? JSON.parse(text) : text,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } catch {
      problems[key] = JSON_HINT;
    }
  }
  return Object.keys(problems).length > 0
    ? { input: null, problems }
    : { input: input as Record<string, never>, problems: null };
}
