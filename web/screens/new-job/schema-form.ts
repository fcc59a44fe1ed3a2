// Builds form fields from the JSON Schema of an object and reads their values. Types without a form control are edited
// as JSON.

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Schema = Readonly<Record<string, unknown>>;

export interface SchemaField {
  name: string;
  title: string;
  description: string | null;
  kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json';
  required: boolean;
  /** Options of a choice field. */
  choices: readonly Json[];
  min: number | null;
  max: number | null;
  /** Initial text. */
  initial: string;
}

export const KIND_WORDS: Record<SchemaField['kind'], string> = {
  text: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'yes or no',
  choice: 'one of a list',
  json: '',
};

/** Text of each field. */
export type FormTexts = Readonly<Record<string, string>>;

export function fieldsOfSchema(schema: Schema | null): SchemaField[] {
  const properties = asObject(schema?.properties);
  const required = Array.isArray(schema?.required) ? (schema.required as unknown[]) : [];
  return Object.entries(properties).map(([name, given]) => {
    const property = resolved(asObject(given), schema ?? {});
    const choices = choicesOf(property);
    const kind = choices.length > 0 ? 'choice' : kindOf(property);
    return {
      name,
      title: typeof property.title === 'string' ? property.title : name,
      description: typeof property.description === 'string' ? property.description : null,
      kind,
      // Fields with a default are optional, even if the schema requires them.
      required: required.includes(name) && property.default === undefined,
      choices,
      min: boundOf(property.minimum, Number.MIN_SAFE_INTEGER),
      max: boundOf(property.maximum, Number.MAX_SAFE_INTEGER),
      initial: property.default === undefined ? '' : textOf(property.default as Json, kind),
    };
  });
}

/** Values of the form, and problems by field. Empty fields are omitted. */
export function readForm(
  fields: readonly SchemaField[],
  texts: FormTexts,
): { values: Record<string, Json>; problems: Record<string, string> } {
  const values: Record<string, Json> = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? field.initial;
    if (text === '') {
      if (field.required) problems[field.name] = 'Required';
      continue;
    }
    const read = readText(field, text);
    if ('problem' in read) problems[field.name] = read.problem;
    else values[field.name] = read.value;
  }
  return { values, problems };
}

function readText(field: SchemaField, text: string): { value: Json } | { problem: string } {
  if (field.kind === 'text') return { value: text };
  if (field.kind === 'boolean') return { value: text === 'true' };
  if (field.kind === 'choice') {
    const found = field.choices.find((choice) => textOf(choice, 'choice') === text);
    return found === undefined ? { problem: 'Select an option' } : { value: found };
  }
  if (field.kind === 'json') {
    try {
      return { value: JSON.parse(text) as Json };
    } catch {
      return { problem: 'Invalid JSON. Use double quotes for text and [ ] for lists.' };
    }
  }
  const number = Number(text);
  if (!Number.isFinite(number)) return { problem: 'Enter a number' };
  if (field.kind === 'integer' && !Number.isInteger(number)) return { problem: 'Enter a whole number' };
  if (field.min !== null && number < field.min) return { problem: `At least ${field.min}` };
  if (field.max !== null && number > field.max) return { problem: `At most ${field.max}` };
  return { value: number };
}

export function textOf(value: Json, kind: SchemaField['kind']): string {
  if (typeof value === 'string' && kind !== 'json') return value;
  return JSON.stringify(value);
}

function kindOf(property: Schema): SchemaField['kind'] {
  const types = [property.type].flat().filter((type) => type !== 'null');
  if (types.length !== 1) return 'json';
  if (types[0] === 'string') return 'text';
  return types[0] === 'number' || types[0] === 'integer' || types[0] === 'boolean' ? types[0] : 'json';
}

function choicesOf(property: Schema): readonly Json[] {
  if (Array.isArray(property.enum)) return property.enum as Json[];
  return property.const === undefined ? [] : [property.const as Json];
}

/** Resolves references inside the document, and "T or null" to T. */
function resolved(property: Schema, root: Schema, depth = 0): Schema {
  if (depth > 10) return property;
  if (typeof property.$ref === 'string' && property.$ref.startsWith('#/')) {
    const target = property.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, part) => asObject(at)[part], root);
    return resolved({ ...asObject(target), ...without(property, '$ref') }, root, depth + 1);
  }
  const options = (property.anyOf ?? property.oneOf) as unknown;
  if (!Array.isArray(options)) return property;
  const others = options.map(asObject).filter(({ type }) => type !== 'null');
  if (others.length !== 1) return property;
  return resolved({ ...others[0], ...without(property, 'anyOf', 'oneOf') }, root, depth + 1);
}

function without(schema: Schema, ...names: string[]): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
}

/** Libraries emit the bounds of safe integers for numbers without bounds. */
function boundOf(value: unknown, unbounded: number): number | null {
  return typeof value === 'number' && value !== unbounded ? value : null;
}

function asObject(value: unknown): Schema {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Schema) : {};
}
