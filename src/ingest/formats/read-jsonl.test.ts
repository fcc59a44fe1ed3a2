import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { depth } from '../../../test/support/depth.ts';
import { allRows, shippedLimits, useTestFiles } from '../../../test/support/file-rows.ts';
import type { FormatOptions } from '../row-reader.ts';
import { openJsonl } from './read-jsonl.ts';

const files = useTestFiles();
const limits = shippedLimits();
/** Reads the file as if it were read again: then a few broken lines do not refuse the file. */
const AGAIN: FormatOptions = { found: { format: 'jsonl', warnings: [] } };

async function read(
  content: string | Buffer,
  options: FormatOptions = {},
  changed = {},
  chunkBytes?: number,
) {
  return allRows(
    await openJsonl(files.write(content), { ...options, ...AGAIN }, { ...limits, ...changed }, chunkBytes),
  );
}

function object(line: number, value: Record<string, unknown>, repair: string | null = null) {
  return { kind: 'object', line, object: value, repair };
}

describe('JSON lines', () => {
  it('are one row each, with the line number, and blank lines are skipped', async () => {
    expect(await read('{"a":1}\n\n  \n{"b":{"c":[2]}}')).toEqual([
      object(1, { a: 1 }),
      object(4, { b: { c: [2] } }),
    ]);
  });

  it.each(['\n', '\r\n', '\r'])('may end with %j', async (end) => {
    expect(await read(`{"a":1}${end}{"a":2}${end}`)).toEqual([object(1, { a: 1 }), object(2, { a: 2 })]);
  });

  it('may begin with a byte order mark', async () => {
    expect(await read('\ufeff{"a":1}\n')).toEqual([object(1, { a: 1 })]);
  });

  it('may be UTF-16, which is reported', async () => {
    const reader = await openJsonl(
      files.write(Buffer.from('\ufeff{"a":"ä"}\n{"a":"€"}\n', 'utf16le')),
      {},
      limits,
    );
    expect(reader.detected).toEqual({ format: 'jsonl', encoding: 'utf-16le', warnings: [] });
    expect(await allRows(reader)).toEqual([object(1, { a: 'ä' }), object(2, { a: '€' })]);
  });

  it('are read in the stated encoding', async () => {
    const latin = Buffer.from('{"a":"\xe4"}\n', 'latin1');
    expect(await read(latin, { encoding: 'latin1' })).toEqual([object(1, { a: 'ä' })]);
  });

  it('yield no rows for an empty file', async () => {
    expect(await read('')).toEqual([]);
    expect(await read('\n\n')).toEqual([]);
  });

  it('are rejected with their text if they are not objects, and reading continues', async () => {
    expect(await read('{"a":1}\n{"a":\n[1]\n{"a":2}\n')).toEqual([
      object(1, { a: 1 }),
      { kind: 'rejected', line: 2, raw: '{"a":', reason: expect.stringContaining('not valid JSON') },
      { kind: 'rejected', line: 3, raw: '[1]', reason: 'expected a JSON object, got an array' },
      object(4, { a: 2 }),
    ]);
  });

  it('have a note on invalid bytes only on the row that contains them', async () => {
    const content = Buffer.concat([
      Buffer.from('{"a":"ä � ü"}\n{"a":"x'),
      Buffer.from([0xff]),
      Buffer.from('y"}\n{"a":"ö"}\n'),
    ]);
    const rows = await read(content);
    expect(rows).toEqual([
      object(1, { a: 'ä � ü' }),
      object(2, { a: 'x�y' }, expect.stringContaining('replaced') as unknown as string),
      object(3, { a: 'ö' }),
    ]);
  });

  it('are rejected with one byte more than allowed, but not at the limit', async () => {
    const line = '{"a":"ää"}';
    const bytes = Buffer.byteLength(line);
    expect(await read(line, {}, { maxRowBytes: bytes })).toEqual([object(1, { a: 'ää' })]);
    expect(await read(`${line}\n{"b":1}`, {}, { maxRowBytes: bytes - 1 })).toEqual([
      { kind: 'rejected', line: 1, raw: line, reason: 'the line has more than 11 bytes (ingestMaxRowBytes)' },
      object(2, { b: 1 }),
    ]);
  });

  it('are not kept in memory if they are far too long', async () => {
    const path = files.write(
      Buffer.concat([Buffer.alloc(64 * 1024 * 1024, 'x'), Buffer.from('\n{"a":1}\n')]),
    );
    const before = process.memoryUsage().rss;
    const rows = await allRows(await openJsonl(path, {}, { ...limits, maxRowBytes: 1024 * 1024 }));
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    expect(rows).toEqual([
      {
        kind: 'rejected',
        line: 1,
        raw: 'x'.repeat(10_000),
        reason: expect.stringContaining('ingestMaxRowBytes'),
      },
      object(2, { a: 1 }),
    ]);
  });

  it('are the same on every read', async () => {
    const reader = await openJsonl(files.write('{"a":1}\nx\n{"a":2}'), {}, limits);
    expect(await allRows(reader)).toEqual(await allRows(reader));
  });

  it('are read back as they were written, at every chunk size', async () => {
    const written = fc.array(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), {
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(written, fc.constantFrom('\n', '\r\n'), async (objects, end) => {
        const lines = objects.map((each) => JSON.stringify(each));
        const path = files.write(lines.map((line) => `${line}${end}`).join(''));
        const whole = await allRows(await openJsonl(path, AGAIN, limits));
        const exact = lines.filter((line) => !/\d{16}/.test(line));
        expect(
          whole.filter((row) => row.kind === 'object' && row.repair === null).length,
        ).toBeGreaterThanOrEqual(exact.length);
        if (exact.length === lines.length)
          expect(whole).toEqual(lines.map((line, i) => object(i + 1, JSON.parse(line))));
        for (const chunkBytes of [1, 2, 3, 5, 7, 11, 13, 17]) {
          expect(await allRows(await openJsonl(path, AGAIN, limits, chunkBytes))).toEqual(whole);
        }
      }),
      { numRuns: depth(6, 40) },
    );
  });

  it('that are broken at random positions give the same result at every chunk size', async () => {
    const bytes = fc.array(fc.constantFrom(...Buffer.from('{}[]",:\\\n\r a1ä€'), 0xff, 0xe2), {
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(bytes, async (content) => {
        const path = files.write(Buffer.from(content));
        const whole = await allRows(await openJsonl(path, { ...AGAIN, encoding: 'utf-8' }, limits));
        for (const chunkBytes of [1, 3, 17]) {
          expect(
            await allRows(await openJsonl(path, { ...AGAIN, encoding: 'utf-8' }, limits, chunkBytes)),
          ).toEqual(whole);
        }
      }),
      { numRuns: depth(12, 60) },
    );
  });
});

describe('JSON lines of arrays', () => {
  it('are a table, as on jsonlines.org', async () => {
    const path = files.write('["Name","Score"]\n\n["Ann",24]\n["Bob",29]\n');
    const reader = await openJsonl(path, {}, limits);
    expect(reader.headers).toEqual(['Name', 'Score']);
    expect(await allRows(reader)).toEqual([
      { kind: 'cells', line: 3, cells: ['Ann', 24], repair: null },
      { kind: 'cells', line: 4, cells: ['Bob', 29], repair: null },
    ]);
  });
});

describe('lines that are mostly not objects', () => {
  it('are refused before a row is stored', async () => {
    await expect(openJsonl(files.write('{"a":1}\nx\ny\n'), {}, limits)).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining('but 2 of the first 3 do not'),
    });
  });
});
