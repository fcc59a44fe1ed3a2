// Values for fast-check from the JSON Schema of the OpenAPI document: valid ones, and arbitrary hostile ones.
import fc from 'fast-check';

export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  format?: string;
  pattern?: string;
}

type Definitions = Readonly<Record<string, JsonSchema>>;

/** Long enough to find mistakes, short enough to run many. */
const MOST = 5;

export function validValues(schema: JsonSchema, definitions: Definitions, depth = 0): fc.Arbitrary<unknown> {
  const inner = (each: JsonSchema) => validValues(each, definitions, depth + 1);
  if (schema.$ref) return inner(definitions[schema.$ref.split('/').at(-1)!]!);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return depth > 4 ? fc.constant(null) : fc.oneof(...choices.map(inner));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'string':
      return strings(schema);
    case 'integer':
    case 'number':
      return numbers(schema, type === 'integer');
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(inner(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.max(schema.minItems ?? 0, Math.min(schema.maxItems ?? MOST, MOST)),
      });
    case 'object':
      return objects(schema, inner);
    default:
      return fc.oneof(fc.constant(null), fc.integer(), fc.string(), fc.boolean());
  }
}

function strings({ minLength = 0, maxLength = 50, format, pattern }: JsonSchema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time')
    return fc
      .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
      .map((date) => date.toISOString());
  if (pattern) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 50)) });
}

function numbers(schema: JsonSchema, isWhole: boolean): fc.Arbitrary<number> {
  const min = schema.minimum ?? (schema.exclusiveMinimum ?? -1000) + 1;
  const max = Math.max(min, Math.min(schema.maximum ?? 1e6, 1e6));
  return isWhole
    ? fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
    : fc.double({ min, max, noNaN: true });
}

function objects(
  schema: JsonSchema,
  inner: (schema: JsonSchema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const known = fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, inner(each)])),
    { requiredKeys: required as never[] },
  );
  if (typeof additionalProperties !== 'object' || Object.keys(properties).length > 0) return known;
  return fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), inner(additionalProperties), {
    maxKeys: MOST,
  });
}

/** Values sent by an attacker or a broken program. */
export const hostileValues: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    null,
    '',
    '\u0000',
    '\ud800',
    '../../etc/passwd',
    "'; drop table jobs; --",
    '<script>alert(1)</script>',
    '__proto__',
    'x'.repeat(5000),
    -1,
    1e308,
    Number.MAX_SAFE_INTEGER,
    [],
    {},
    { __proto__: { admin: true }, constructor: 1 },
    [[[[[[[[[[]]]]]]]]]],
    true,
    'NaN',
    '9999999999999999999999',
    '%00',
    '￿',
  ),
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.jsonValue({ maxDepth: 3 }),
);
