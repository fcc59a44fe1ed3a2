// An input as fields of a form and back. Texts stay as they are typed; everything else is JSON.

/** The problem of a field that holds JSON and was typed as something else. */
export const JSON_HINT = 'Enter JSON here, e.g. 5, true, null, "text", [ ] or { }';

export interface InputField {
  key: string;
  text: string;
  /** Typed as JSON, because it was no text. */
  isJson: boolean;
}

/** Null: the input has no fields. */
export function inputFields(input: unknown, columns: readonly string[]): InputField[] | null {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return null;
  const record = input as Record<string, unknown>;
  // In the order of the file; what is not in the file, behind it.
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
      // An own property, whatever it is called.
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
