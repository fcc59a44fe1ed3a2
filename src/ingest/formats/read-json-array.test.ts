import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { depth } from '../../../test/support/depth.ts';
import { allRows, shippedLimits, useTestFiles } from '../../../test/support/file-rows.ts';
import type { FormatOptions } from '../row-reader.ts';
import { openJsonArray } from './read-json-array.ts';

const files = useTestFiles();
const limits = shippedLimits();

async function read(content: string | Buffer, changed = {}, chunkBytes?: number) {
  // Reads the file as if it were read again: then a few broken elements do not refuse the file.
  const options: FormatOptions = { found: { format: 'json', warnings: [] } };
  return allRows(await openJsonArray(files.write(content), options, { ...limits, ...changed }, chunkBytes));
}

function object(line: number, value: Record<string, unknown>, repair: string | null = null) {
  return { kind: 'object', line, object: value, repair };
}

describe('a JSON array', () => {
  it('yields one row per element, with the line where it begins', async () => {
    const text = '\n[\n  {"a": 1,\n   "b": [1, {"c": "]},"}]},\n  {"a": 2}, {"a": "\\"\\\\"}\n]\n';
    expect(await read(text)).toEqual([
      object(3, { a: 1, b: [1, { c: ']},' }] }),
      object(5, { a: 2 }),
      object(5, { a: '"\\' }),
    ]);
  });

  it('may be empty', async () => {
    expect(await read('[]')).toEqual([]);
    expect(await read(' [ \n ] ')).toEqual([]);
  });

  it('may have a comma after its last element', async () => {
    expect(await read('[{"a":1},\n]')).toEqual([object(1, { a: 1 })]);
  });

  it('rejects elements that are not objects, and continues', async () => {
    expect(await read('[1,\n"x, ]",\nnull,[{"a":1}],\n{"a":1},,{"a":2}]')).toEqual([
      { kind: 'rejected', line: 1, raw: '1', reason: 'expected a JSON object, got a number' },
      { kind: 'rejected', line: 2, raw: '"x, ]"', reason: 'expected a JSON object, got a string' },
      { kind: 'rejected', line: 3, raw: 'null', reason: 'expected a JSON object, got null' },
      { kind: 'rejected', line: 3, raw: '[{"a":1}]', reason: 'expected a JSON object, got an array' },
      object(4, { a: 1 }),
      {
        kind: 'rejected',
        line: 4,
        raw: '',
        reason: 'expected a JSON object, got nothing between two commas',
      },
      object(4, { a: 2 }),
    ]);
  });

  it('rejects an element that is broken inside, and continues', async () => {
    const rows = await read('[{"a":nope},\n{"a":1 "b":2},\n{"a":\t"tab\there"},\n{"a":3}]');
    expect(rows.map((row) => row.kind)).toEqual(['rejected', 'rejected', 'rejected', 'object']);
    expect(rows[1]).toMatchObject({ line: 2, raw: '{"a":1 "b":2}' });
  });

  it.each([
    ['[{"a":"x},\n{"a":"y"}]', 'FILE_INVALID', 'line 1 of the JSON array: a string is not closed'],
    ['[{"a":1},\n{"a":[1}]', 'FILE_INVALID', 'line 2 of the JSON array: a closing bracket'],
    ['[{"a":1}\n{"a":2}]', 'FILE_INVALID', 'line 2 of the JSON array: expected a comma'],
    ['[{"a":1}]\n{"a":2}', 'FILE_INVALID', 'line 2 of the JSON array: expected nothing after'],
    ['{"a":1}', 'FILE_INVALID', 'line 1 of the JSON array: expected an array'],
    ['[{"a":1},\n{"a":', 'FILE_INCOMPLETE', 'ends at line 2, after 1 element,'],
    ['[{"a":1}', 'FILE_INCOMPLETE', 'after 1 element,'],
    ['', 'FILE_INCOMPLETE', 'an empty file'],
  ])('refuses the file when its structure is lost: %j', async (text, code, message) => {
    await expect(read(text)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  });

  it('rejects an element with one byte more than allowed, but not at the limit', async () => {
    const element = '{"a":"ää"}';
    const bytes = Buffer.byteLength(element);
    expect(await read(`[${element}]`, { maxRowBytes: bytes })).toEqual([object(1, { a: 'ää' })]);
    expect(await read(`[${element},{"b":1}]`, { maxRowBytes: bytes - 1 }, 3)).toEqual([
      {
        kind: 'rejected',
        line: 1,
        raw: element,
        reason: 'the element has more than 11 bytes (ingestMaxRowBytes)',
      },
      object(1, { b: 1 }),
    ]);
  });

  it('notes invalid bytes only on the element that contains them', async () => {
    const content = Buffer.concat([
      Buffer.from('[{"a":"ä"},{"a":"'),
      Buffer.from([0xff]),
      Buffer.from('"},{"a":"ö"}]'),
    ]);
    expect(await read(content)).toEqual([
      object(1, { a: 'ä' }),
      object(1, { a: '�' }, expect.stringContaining('replaced') as unknown as string),
      object(1, { a: 'ö' }),
    ]);
  });

  it('is read back as it was written, at every chunk size', async () => {
    const written = fc.array(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), {
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(written, fc.constantFrom(0, 2), async (objects, indent) => {
        const json = JSON.stringify(objects, null, indent);
        const path = files.write(json);
        const whole = await allRows(await openJsonArray(path, {}, limits));
        expect(whole).toHaveLength(objects.length);
        if (!/\d{16}/.test(json)) {
          expect(whole.map((row) => (row.kind === 'object' ? row.object : row))).toEqual(JSON.parse(json));
        }
        for (let chunkBytes = 1; chunkBytes <= 17; chunkBytes += 1) {
          expect(await allRows(await openJsonArray(path, {}, limits, chunkBytes))).toEqual(whole);
        }
      }),
      { numRuns: depth(5, 30) },
    );
  });

  it('that is broken at random positions gives the same result at every chunk size', async () => {
    const bytes = fc.array(fc.constantFrom(...Buffer.from('{}[]",:\\\n\r a1ä')), { maxLength: 40 });
    const outcome = async (path: string, chunkBytes?: number) => {
      try {
        return await allRows(await openJsonArray(path, { encoding: 'utf-8' }, limits, chunkBytes));
      } catch (error) {
        return (error as Error).message;
      }
    };
    await fc.assert(
      fc.asyncProperty(bytes, async (content) => {
        const path = files.write(Buffer.concat([Buffer.from('['), Buffer.from(content)]));
        const whole = await outcome(path);
        for (const chunkBytes of [1, 2, 3, 17]) expect(await outcome(path, chunkBytes)).toEqual(whole);
      }),
      { numRuns: depth(20, 100) },
    );
  });
});

describe('a JSON array of arrays', () => {
  const open = (content: string, options: FormatOptions = {}) =>
    openJsonArray(files.write(content), options, limits);

  it('is a table: its names are found, its values keep their types, rows of another length are rejected', async () => {
    const reader = await open(
      '[["id","name","n"],\n[1,"Ann",null],\n[2,"Bob",{"x":[1]}],\n[3,"Cy"],[4,"Di",true]]',
    );
    expect(reader.headers).toEqual(['id', 'name', 'n']);
    expect(reader.detected.table).toEqual({ header: true, skipLines: 0, line: 1 });
    expect(await allRows(reader)).toEqual([
      { kind: 'cells', line: 2, cells: [1, 'Ann', null], repair: null },
      { kind: 'cells', line: 3, cells: [2, 'Bob', { x: [1] }], repair: null },
      { kind: 'rejected', line: 4, raw: '[3,"Cy"]', reason: 'expected 3 values, got 2' },
      { kind: 'cells', line: 4, cells: [4, 'Di', true], repair: null },
    ]);
  });

  it('may have titles and no header, and is read again in the same way', async () => {
    const text = '[["Report of 2024"],["Ann",1,"2024-01-31"],["Bob",2,"2024-02-01"],["Cy",3,"2024-02-02"]]';
    const reader = await open(text);
    expect(reader.headers).toEqual(['column_1', 'column_2', 'column_3']);
    expect(reader.detected).toMatchObject({
      table: { header: false, skipLines: 1 },
      warnings: ['The first array was not read as a row: the table begins after it.'],
    });
    const again = await open(text, { found: reader.detected });
    expect(again.headers).toEqual(reader.headers);
    expect(await allRows(again)).toEqual(await allRows(reader));
  });

  it('uses stated names and a stated header', async () => {
    const reader = await open('[["a","b"],["c","d"]]', { header: false, columns: ['x', 'y'] });
    expect(reader.headers).toEqual(['x', 'y']);
    expect(await allRows(reader)).toHaveLength(2);
  });

  it('with rows of many lengths is refused, with the numbers', async () => {
    await expect(open('[["a","b","c"],[1],[1,2],[1,2,3,4],[1,2,3]]')).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining('but 3 of the first 4 do not (line 1: expected 3 values, got 1)'),
    });
  });
});

describe('a JSON array of values that are not rows', () => {
  it('is refused before a row is stored, with the numbers', async () => {
    const text = `[${Array.from({ length: 64 }, (_, i) => i).join(',')},{"a":1}]`;
    await expect(openJsonArray(files.write(text), {}, limits)).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message:
        'expected most rows to be JSON objects, but 64 of the first 65 do not (line 1: expected a JSON object, got a number); the file was read as a JSON array',
    });
  });
});
