// Reads fields from the JSON text that PostgreSQL prints for a jsonb object. Rows of a job mostly have the same keys,
// and jsonb prints them in the same order. Then the values are sliced from the text without building an object, in
// half the time. A row with a different shape than the row before is parsed.

export interface JsonField {
  key: string;
  /** Index of its value in `cells`. */
  at: number;
}

/** Writes the values of the fields into `cells`, null for missing ones. False if the text is not an object. */
export type JsonFieldReader = (json: string, cells: unknown[]) => boolean;

// Shapes are learned this many times; a job whose rows keep changing shape is not worth it.
const MAX_SHAPES = 50;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const F = 0x66;
const N = 0x6e;
const T = 0x74;

interface Shape {
  /** The text before each value. */
  tokens: string[];
  /** Cell index of each value; -1 for values that are not requested. */
  places: number[];
  absent: number[];
}

export function jsonFieldReader(fields: readonly JsonField[]): JsonFieldReader {
  const places = new Map(fields.map(({ key, at }) => [key, at]));
  let shape: Shape | null = null;
  let shapes = 0;
  return (json, cells) => {
    // Without backslashes, the next quote always ends a string.
    const isPlain = !json.includes('\\');
    if (isPlain && shape !== null && readAlike(json, shape, cells)) return true;
    const value: unknown = JSON.parse(json);
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return false;
    const record = value as Record<string, unknown>;
    for (const { key, at } of fields) cells[at] = Object.hasOwn(record, key) ? record[key] : null;
    if (isPlain && shapes < MAX_SHAPES) {
      shape = shapeOf(record, places);
      shapes += 1;
    }
    return true;
  };
}

function shapeOf(record: Record<string, unknown>, places: ReadonlyMap<string, number>): Shape {
  const keys = Object.keys(record);
  const known = new Set(keys);
  return {
    tokens: keys.map((key, index) => `${index === 0 ? '{' : ', '}${JSON.stringify(key)}: `),
    places: keys.map((key) => places.get(key) ?? -1),
    absent: [...places].filter(([key]) => !known.has(key)).map(([, at]) => at),
  };
}

function readAlike(json: string, { tokens, places, absent }: Shape, cells: unknown[]): boolean {
  let position = 0;
  for (let i = 0; i < tokens.length; i += 1) {
    const token = tokens[i]!;
    if (!json.startsWith(token, position)) return false;
    position += token.length;
    let value: unknown;
    const first = json.charCodeAt(position);
    if (first === QUOTE) {
      const end = json.indexOf('"', position + 1);
      value = json.slice(position + 1, end);
      position = end + 1;
    } else if (first === OPEN_BRACE || first === OPEN_BRACKET) {
      return false;
    } else if (first === T || first === N) {
      value = first === T ? true : null;
      position += 4;
    } else if (first === F) {
      value = false;
      position += 5;
    } else {
      const start = position;
      for (let code = first; code !== COMMA && code !== CLOSE_BRACE; code = json.charCodeAt(position))
        position += 1;
      value = Number(json.slice(start, position));
    }
    const at = places[i]!;
    if (at >= 0) cells[at] = value;
  }
  // An empty object has no tokens, and an object with more keys does not end here.
  if (position !== json.length - 1 || tokens.length === 0) return false;
  for (const at of absent) cells[at] = null;
  return true;
}
