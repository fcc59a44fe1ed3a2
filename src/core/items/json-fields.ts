// Reads fields out of the JSON text that PostgreSQL prints for a jsonb object. Rows of a job mostly have the same keys,
// and jsonb prints the same keys in the same order: then the values are cut out of the text without building an object
// for it, in half the time. Whatever does not look like the row before is parsed.

export interface JsonField {
  key: string;
  /** Where its value goes. */
  at: number;
}

/** Puts the values of the fields into `cells`, null for what is not there. False when the text is not an object. */
export type JsonFieldReader = (json: string, cells: unknown[]) => boolean;

// Jobs whose rows look different again and again are not worth learning from.
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
  /** What stands before each value. */
  tokens: string[];
  /** Where each value goes; -1 for values that nobody asked for. */
  places: number[];
  absent: number[];
}

export function jsonFieldReader(fields: readonly JsonField[]): JsonFieldReader {
  const places = new Map(fields.map(({ key, at }) => [key, at]));
  let shape: Shape | null = null;
  let shapes = 0;
  return (json, cells) => {
    // Without a backslash every quote is the end of a text.
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
  // An object without keys has no tokens, and one with more keys does not end here.
  if (position !== json.length - 1 || tokens.length === 0) return false;
  for (const at of absent) cells[at] = null;
  return true;
}
