import { existsSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { allRows, shippedLimits, useTestFiles } from '../../test/support/file-rows.ts';
import { png } from '../../test/support/image-writer.ts';
import { writeWorkbook } from '../../test/support/workbook-writer.ts';
import { deflatedZeros, writeZip } from '../../test/support/zip-writer.ts';

import { sniffFile, withRows } from './open-rows.ts';
import type { FormatName, FormatOptions } from './row-reader.ts';

const files = useTestFiles();
const limits = shippedLimits();

const CSV = 'id,name\n1,one\n2,two\n';
const JSONL = '{"id":1}\n{"id":2}\n';
const XLSX = writeWorkbook({
  sheets: [
    {
      name: 'S',
      data: '<row r="1"><c r="A1" t="str"><v>id</v></c></row><row r="2"><c r="A2"><v>1</v></c></row>',
    },
  ],
});

async function open(content: string | Buffer, options: FormatOptions = {}, changed = {}) {
  return withRows(files.write(content), options, { ...limits, ...changed }, async (reader) => ({
    detected: reader.detected,
    headers: reader.headers,
    rows: await allRows(reader),
  }));
}

describe('a file is opened by its content', () => {
  it.each<[FormatName, string | Buffer, number]>([
    ['csv', CSV, 2],
    ['jsonl', JSONL, 2],
    ['json', '[{"id":1},{"id":2}]', 2],
    ['urls', 'https://a.example/\nhttps://b.example/\n', 2],
    ['xlsx', XLSX, 1],
    ['images', '{"rowmill":"images","version":1}\n{"file":"a","rejected":"x"}\n', 1],
  ])('as %s, plain, in a gzip and in a zip', async (format, content, count) => {
    const plain = await open(content);
    expect(plain.detected.format).toBe(format);
    expect(plain.detected.compression).toBeUndefined();
    expect(plain.rows).toHaveLength(count);
    for (const [compression, packed] of [
      ['gzip', gzipSync(content)],
      ['zip', writeZip([{ name: 'folder/any.name', data: content }])],
    ] as const) {
      const unpacked = await open(packed);
      expect(unpacked.rows).toEqual(plain.rows);
      expect(unpacked.headers).toEqual(plain.headers);
      expect(unpacked.detected).toEqual({ ...plain.detected, compression });
    }
  });

  it.each([1, 511, 200_000])('even if a gzip is padded with %i zeros', async (zeros) => {
    const padded = Buffer.concat([gzipSync(CSV), Buffer.alloc(zeros)]);
    expect((await open(padded)).rows).toHaveLength(2);
  });

  it('even if a gzip has several members', async () => {
    expect((await open(Buffer.concat([gzipSync('{"id":1}\n'), gzipSync('{"id":2}\n')]))).rows).toHaveLength(
      2,
    );
  });

  it('even if a small gzip or zip contains megabytes of repeated text', async () => {
    const text = `id,name\n${`1,${'same '.repeat(1000)}\n`.repeat(1000)}`;
    expect(text.length / gzipSync(text).length).toBeGreaterThan(limits.inflateMaxRatio);
    for (const packed of [gzipSync(text), writeZip([{ name: 'a.csv', data: text }])]) {
      expect((await open(packed)).rows).toHaveLength(1000);
    }
  });

  it('even if a zip has files that operating systems add', async () => {
    const zip = writeZip([
      { name: 'data.csv', data: CSV },
      { name: '__MACOSX/data.csv', data: 'x' },
      { name: '.DS_Store', data: 'x' },
    ]);
    expect((await open(zip)).detected).toMatchObject({ format: 'csv', compression: 'zip' });
  });

  it('and unpacked files are removed, whatever happens', async () => {
    const path = files.write(gzipSync(CSV));
    const folder = mkdtempSync(join(tmpdir(), 'rowmill-open-rows-'));
    vi.stubEnv('TMPDIR', folder);
    await withRows(path, {}, limits, async () => {
      expect(readdirSync(folder)).toHaveLength(1);
    });
    expect(readdirSync(folder)).toEqual([]);
    await expect(
      withRows(path, {}, limits, async () => {
        throw new Error('work failed');
      }),
    ).rejects.toThrow('work failed');
    await expect(open(gzipSync(CSV).subarray(0, -5))).rejects.toMatchObject({ code: 'FILE_INCOMPLETE' });
    expect(readdirSync(folder)).toEqual([]);
    vi.unstubAllEnvs();
    rmdirSync(folder);
  });
});

describe('a file is refused', () => {
  const text = Buffer.from(JSONL.repeat(100));

  it.each<[string, Buffer | string, string, string]>([
    ['a gzip that is cut off', gzipSync(text).subarray(0, -9), 'FILE_INCOMPLETE', 'the gzip ends'],
    ['a gzip that ends after its header', gzipSync(text).subarray(0, 10), 'FILE_INCOMPLETE', 'the gzip ends'],
    ['a gzip that is damaged', flip(gzipSync(text), 30), 'FILE_INVALID', 'the gzip is damaged'],
    ['a gzip with data after its end', behind(gzipSync(text), 'more'), 'FILE_INVALID', 'the gzip is damaged'],
    ['a gzip with data after zeros', behind(gzipSync(text), '\0more'), 'FILE_INVALID', 'after its end'],
    ['a gzip in a gzip', gzipSync(gzipSync(text)), 'FILE_UNSUPPORTED', 'a gzip inside a gzip'],
    [
      'a zip in a gzip',
      gzipSync(writeZip([{ name: 'a', data: text }])),
      'FILE_UNSUPPORTED',
      'a zip inside a gzip',
    ],
    [
      'a zip in a zip',
      writeZip([{ name: 'a.zip', data: writeZip([{ name: 'a', data: text }]) }]),
      'FILE_UNSUPPORTED',
      'a zip inside a zip',
    ],
    [
      'a gzip in a zip',
      writeZip([{ name: 'a', data: gzipSync(text) }]),
      'FILE_UNSUPPORTED',
      'a gzip inside a zip',
    ],
    [
      'a zip that is cut off',
      writeZip([{ name: 'a', data: text }]).subarray(0, -10),
      'FILE_INCOMPLETE',
      'the zip ends',
    ],
    ['a zip without files', writeZip([]), 'FILE_UNSUPPORTED', 'a zip without files'],
    [
      'a zip of two tables',
      writeZip([
        { name: 'a.csv', data: CSV },
        { name: 'b.csv', data: CSV },
      ]),
      'FILE_UNSUPPORTED',
      'a zip of 2 files (a.csv, b.csv)',
    ],
    [
      'a zip with a password',
      writeZip([{ name: 'a', data: text, encrypted: true }]),
      'FILE_UNSUPPORTED',
      'a encrypted',
    ],
    ['a bomb in a gzip', gzipSync(Buffer.alloc(5e6)), 'FILE_TOO_LARGE', 'inflateMaxRatio'],
    [
      'a bomb in a zip',
      writeZip([{ name: 'a.csv', deflated: deflatedZeros(50), size: 50 * 1024 * 1024 }]),
      'FILE_TOO_LARGE',
      'inflateMaxRatio',
    ],
    ['an image alone', png(1, 1), 'FILE_UNSUPPORTED', 'a single png image'],
    ['a PDF', '%PDF-1.7\n%âãÏÓ', 'FILE_UNSUPPORTED', 'a PDF'],
    ['a pretty-printed object', '{\n  "a": 1\n}\n', 'FILE_UNSUPPORTED', 'one JSON object'],
    ['an object around the rows', '{"rows":[{"a":1}]}', 'FILE_UNSUPPORTED', 'around the rows'],
    ['an HTML table', '<html><table><tr><td>1</td></tr></table></html>', 'FILE_UNSUPPORTED', 'an HTML page'],
  ])('%s', async (_, content, code, message) => {
    await expect(open(content)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
      hint: expect.stringMatching(/\w/),
    });
  });

  it('if it does not exist', async () => {
    const path = `${files.write('')}-gone`;
    expect(existsSync(path)).toBe(false);
    await expect(withRows(path, {}, limits, async () => {})).rejects.toMatchObject({ code: 'FILE_INVALID' });
  });

  it('if it inflates to one byte more than allowed, but not at the limit', async () => {
    const bytes = Buffer.byteLength(CSV);
    expect((await open(gzipSync(CSV), {}, { inflateMaxBytes: bytes })).rows).toHaveLength(2);
    await expect(open(gzipSync(CSV), {}, { inflateMaxBytes: bytes - 1 })).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: expect.stringContaining('inflateMaxBytes'),
    });
  });
});

describe('a format that is stated', () => {
  it.each<[FormatName, string, FormatName]>([
    ['csv', JSONL, 'csv'],
    ['csv', 'https://a.example/\nhttps://b.example/\n', 'csv'],
    ['jsonl', '{"rows":[{"a":1}]}', 'jsonl'],
    ['jsonl', 'nonsense\n{"a":1}\n', 'jsonl'],
    ['urls', 'url\nhttps://a.example/\n', 'urls'],
    ['json', ' [{"a":1}]', 'json'],
  ])('as %s is used if the file fits it', async (format, content, expected) => {
    expect((await open(content, { format })).detected.format).toBe(expected);
    expect((await open(gzipSync(content), { format })).detected.format).toBe(expected);
  });

  it.each<[FormatName, string | Buffer, string]>([
    ['xlsx', CSV, 'expected a workbook (XLSX), as stated, got a table of text (CSV)'],
    ['csv', XLSX, 'expected a table of text (CSV), as stated, got a workbook (XLSX)'],
    ['csv', '%PDF-1.7', 'got a PDF'],
    ['csv', '\0\x01\x02\x03\x04', 'got binary data'],
    ['json', CSV, 'got a table of text'],
    ['json', JSONL, 'got JSON lines'],
    ['jsonl', CSV, 'got a table of text'],
    ['urls', CSV, 'got a table of text'],
    ['images', JSONL, 'got JSON lines'],
  ])('as %s is refused if the file does not fit it', async (format, content, message) => {
    await expect(open(content, { format })).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining(message),
    });
  });
});

describe('a zip of images', () => {
  const zip = writeZip([
    { name: 'a.png', data: png(1, 1) },
    { name: 'b.png', data: png(2, 2) },
    { name: 'readme.txt', data: 'hello' },
  ]);

  it('is recognized, so that it can be stored first', async () => {
    const path = files.write(zip);
    expect(await sniffFile(path, limits)).toEqual({ kind: 'imageZip' });
    expect(await sniffFile(files.write(writeZip([{ name: 'x', data: png(1, 1) }])), limits)).toEqual({
      kind: 'imageZip',
    });
  });

  it('is not recognized if half of its files or more are other files', async () => {
    const mixed = writeZip([
      { name: 'a.png', data: png(1, 1) },
      { name: 'prices.csv', data: CSV },
    ]);
    expect(await sniffFile(files.write(mixed), limits)).toMatchObject({
      kind: 'unsupported',
      found: 'a zip of 2 files (a.png, prices.csv)',
    });
  });

  it('has no rows of its own', async () => {
    await expect(open(zip)).rejects.toMatchObject({
      code: 'FILE_UNSUPPORTED',
      message: expect.stringContaining('images'),
    });
  });
});

function behind(bytes: Buffer, more: string): Buffer {
  return Buffer.concat([bytes, Buffer.from(more)]);
}

function flip(bytes: Buffer, at: number): Buffer {
  const damaged = Buffer.from(bytes);
  damaged[at] = damaged[at]! ^ 0xff;
  return damaged;
}
