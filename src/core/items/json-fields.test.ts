import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonFieldReader } from './json-fields.ts';

/** Prints JSON as PostgreSQL prints jsonb. */
function printed(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printed).join(', ')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}: ${printed(each)}`)
    .join(', ')}}`;
}

function read(json: string, keys: string[], reader = jsonFieldReader(fieldsOf(keys))): unknown[] {
  const cells = new Array<unknown>(keys.length).fill('left over');
  expect(reader(json, cells)).toBe(true);
  return cells;
}

function fieldsOf(keys: string[]): { key: string; at: number }[] {
  return keys.map((key, at) => ({ key, at }));
}

describe('jsonFieldReader', () => {
  it('reads the same values as JSON.parse after rows of any shape', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'long key', 'ü', '"', '\\', '__proto__', 'constructor', '');
    const leaf = fc.oneof(
      fc.string(),
      fc.constantFrom('", "b": "', '}', '{"a": 1}', '\\', '"', 'null', '\n'),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    const value = fc.oneof({ weight: 6, arbitrary: leaf }, fc.array(leaf), fc.dictionary(key, leaf));
    const shape = fc.uniqueArray(key, { maxLength: 6 });
    const row = fc
      .tuple(
        fc.oneof({ weight: 5, arbitrary: fc.constant(['a', 'c', 'ü']) }, shape),
        fc.array(value, { minLength: 6, maxLength: 6 }),
      )
      .map(([keys, values]) => Object.fromEntries(keys.map((each, index) => [each, values[index]])));
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 12 }),
        shape,
        fc.boolean(),
        (rows, keys, spaced) => {
          const reader = jsonFieldReader(fieldsOf(keys));
          for (const record of rows) {
            const json = spaced ? printed(record) : JSON.stringify(record);
            const parsed = JSON.parse(json) as Record<string, unknown>;
            const expected = keys.map((each) => (Object.hasOwn(parsed, each) ? parsed[each] : null));
            expect(read(json, keys, reader)).toEqual(expected);
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('clears the cells of keys that a row does not have', () => {
    const reader = jsonFieldReader(fieldsOf(['a', 'b']));
    expect(read('{"a": "1", "b": "2"}', ['a', 'b'], reader)).toEqual(['1', '2']);
    expect(read('{"a": "3"}', ['a', 'b'], reader)).toEqual(['3', null]);
    expect(read('{"a": "4"}', ['a', 'b'], reader)).toEqual(['4', null]);
    expect(read('{}', ['a', 'b'], reader)).toEqual([null, null]);
  });

  it('reads correctly after more shapes than it learns', () => {
    const reader = jsonFieldReader(fieldsOf(['x']));
    for (let n = 0; n < 200; n += 1) expect(read(`{"k${n}": ${n}, "x": ${n}}`, ['x'], reader)).toEqual([n]);
  });

  it.each(['1', '"text"', 'true', 'null', '[1, 2]'])('reports that %s is not an object', (json) => {
    const reader = jsonFieldReader(fieldsOf(['a']));
    reader('{"a": 1}', [null]);
    expect(reader(json, [null])).toBe(false);
  });
});
