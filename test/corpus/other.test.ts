// The corpus of all formats except CSV: one line per file with its expected result. docs/files-other.md documents
// them.
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../src/core/errors/error-registry.ts';
import { withRows } from '../../src/ingest/open-rows.ts';
import type { FormatName, ReadRow } from '../../src/ingest/row-reader.ts';
import { allRows, shippedLimits, useTestFiles } from '../support/file-rows.ts';
import { jpeg, png } from '../support/image-writer.ts';
import { sheetXml, workbookParts, writeWorkbook } from '../support/workbook-writer.ts';
import { deflatedZeros, writeZip } from '../support/zip-writer.ts';

const files = useTestFiles();

type Outcome =
  /** `r` rejected, `n` kept with a note, `.` kept unchanged. */
  { read: FormatName; rows: string } | { refused: ErrorCode; saying: string };

const GIGABYTE_OF_ZEROS = { deflated: deflatedZeros(1024), size: 1024 ** 3 };
const A1 = '<row r="1"><c r="A1" t="str"><v>a</v></c></row>';
const SHEET = { sheets: [{ name: 'S', data: `${A1}<row r="2"><c r="A2"><v>1</v></c></row>` }] };

function ole2(...names: string[]): Buffer {
  const file = Buffer.alloc(2048);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(file);
  file.writeUInt16LE(9, 30);
  file.writeUInt32LE(1, 48);
  for (const [i, name] of names.entries()) file.write(`${name}\0`, 1024 + i * 128, 'utf16le');
  return file;
}

const CORPUS: [string, string | Buffer, Outcome][] = [
  ['JSON lines', '{"a":1}\n{"a":2}\n', { read: 'jsonl', rows: '..' }],
  ['JSON lines with damage', '{"a":1}\n{"a":\n\n{"a":12345678901234567890}', { read: 'jsonl', rows: '.rn' }],
  ['JSON lines in UTF-16', Buffer.from('\ufeff{"a":"ä"}\n', 'utf16le'), { read: 'jsonl', rows: '.' }],
  ['JSON lines with NUL', '{"a":"\\u0000"}\n', { read: 'jsonl', rows: '.' }],
  ['JSON lines with hostile keys', '{"__proto__":{"x":1},"constructor":1}\n', { read: 'jsonl', rows: '.' }],
  ['a JSON array', '[\n {"a": 1},\n {"a": 2}\n]', { read: 'json', rows: '..' }],
  ['a JSON array with a scalar', '[1, {"a":1}]', { read: 'json', rows: 'r.' }],
  [
    'a JSON array of scalars',
    '[1, {"a":1}, null]',
    { refused: 'FILE_INVALID', saying: 'but 2 of the first 3 do not' },
  ],
  [
    'a JSON array, minified',
    `[${'{"a":"x"},'.repeat(999)}{"a":"x"}]`,
    { read: 'json', rows: '.'.repeat(1000) },
  ],
  ['a JSON array, cut off', '[{"a":1},{"a"', { refused: 'FILE_INCOMPLETE', saying: 'after 1 element,' }],
  ['a JSON array with a lost quote', '[{"a":"x},\n{"a":"y"}]', { refused: 'FILE_INVALID', saying: 'line 1' }],
  ['a pretty-printed object', '{\n "a": 1\n}', { refused: 'FILE_UNSUPPORTED', saying: 'one JSON object' }],
  ['an object around rows', '{"data":[{"a":1}]}', { refused: 'FILE_UNSUPPORTED', saying: 'around the rows' }],
  ['a list of URLs', 'https://a.example/\nhttp://b.example/x,y\n', { read: 'urls', rows: '..' }],
  [
    'a list of URLs with others',
    '# x\nhttps://a.example/\n\nftp://b\nhttps://c.example/\n',
    { read: 'urls', rows: '.r.' },
  ],
  [
    'a table with a column of URLs',
    'url,n\nhttps://a.example/,1\nhttps://b.example/,2\n',
    { read: 'csv', rows: '..' },
  ],

  ['a workbook', writeWorkbook(SHEET), { read: 'xlsx', rows: '.' }],
  ['a workbook in a gzip', gzipSync(writeWorkbook(SHEET)), { read: 'xlsx', rows: '.' }],
  [
    'a workbook in a zip',
    writeZip([{ name: 'x.xlsx', data: writeWorkbook(SHEET) }]),
    { read: 'xlsx', rows: '.' },
  ],
  [
    'a workbook of formulas and errors',
    writeWorkbook({
      sheets: [
        {
          name: 'S',
          data: `${A1}<row r="2"><c r="A2"><f>NOW()</f></c></row><row r="3"><c r="A3" t="e"><v>#N/A</v></c></row><row r="4"><c r="A4"><f>1+1</f><v>2</v></c></row>`,
        },
      ],
    }),
    { read: 'xlsx', rows: 'nn.' },
  ],
  [
    'a workbook with values beside the table',
    writeWorkbook({ sheets: [{ name: 'S', data: `${A1}<row r="2"><c r="C2"><v>1</v></c></row>` }] }),
    { refused: 'FILE_INVALID', saying: 'but 1 of the first 1 do not' },
  ],
  [
    'a workbook with macros',
    writeWorkbook({ ...SHEET, extra: [{ name: 'xl/vbaProject.bin', data: ole2('VBA') }] }),
    { read: 'xlsx', rows: '.' },
  ],
  [
    'a workbook without rows',
    writeWorkbook({ sheets: [{ name: 'S' }] }),
    { refused: 'FILE_INVALID', saying: 'empty' },
  ],
  [
    'a workbook whose sheet exceeds the last column',
    writeWorkbook({ sheets: [{ name: 'S', data: '<row r="1"><c r="XFE1"><v>1</v></c></row>' }] }),
    { refused: 'FILE_INVALID', saying: 'XFE1' },
  ],
  [
    'a workbook whose dimension exceeds the last row',
    writeWorkbook({
      sheets: [
        {
          name: 'S',
          xml: sheetXml(A1).replace('<sheetData>', '<dimension ref="A1:XFD1048577"/><sheetData>'),
        },
      ],
    }),
    { refused: 'FILE_INVALID', saying: '1048577' },
  ],
  [
    'a workbook with 1 GB of zeros instead of its texts',
    writeZip([...workbookParts(SHEET), { name: 'xl/sharedStrings.xml', ...GIGABYTE_OF_ZEROS }]),
    { refused: 'FILE_TOO_LARGE', saying: 'inflateMaxRatio' },
  ],
  [
    'a workbook with a part that declares a wrong size',
    writeZip([...workbookParts(SHEET), { name: 'xl/sharedStrings.xml', ...GIGABYTE_OF_ZEROS, size: 100 }]),
    { refused: 'FILE_INVALID', saying: 'the size of xl/sharedStrings.xml' },
  ],
  [
    'a workbook with the billion laughs attack',
    writeWorkbook({
      ...SHEET,
      sharedStrings: '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><sst><si><t>&b;</t></si></sst>',
    }),
    { refused: 'FILE_INVALID', saying: 'document type' },
  ],
  [
    'a workbook that reads a file',
    writeWorkbook({
      sheets: [
        {
          name: 'S',
          xml: `<!DOCTYPE x SYSTEM "file:///etc/passwd">${sheetXml(A1).replace(/^<\?.*?\?>/, '')}`,
        },
      ],
    }),
    { refused: 'FILE_INVALID', saying: 'document type' },
  ],
  [
    'a truncated workbook',
    writeWorkbook(SHEET).subarray(0, -40),
    { refused: 'FILE_INCOMPLETE', saying: 'the zip' },
  ],
  [
    'a workbook with a password',
    ole2('EncryptionInfo', 'EncryptedPackage'),
    { refused: 'FILE_UNSUPPORTED', saying: 'password' },
  ],
  ['an old .xls', ole2('Root Entry', 'Workbook'), { refused: 'FILE_UNSUPPORTED', saying: 'old .xls' }],
  ['an old Word document', ole2('WordDocument'), { refused: 'FILE_UNSUPPORTED', saying: 'old Office' }],
  [
    'an .xlsb',
    writeZip([{ name: 'xl/workbook.bin', data: 'x' }]),
    { refused: 'FILE_UNSUPPORTED', saying: '.xlsb' },
  ],
  [
    'an OpenDocument sheet',
    writeZip([{ name: 'mimetype', data: 'application/vnd.oasis.opendocument.spreadsheet', store: true }]),
    { refused: 'FILE_UNSUPPORTED', saying: 'OpenDocument' },
  ],
  [
    'a Word document',
    writeZip([
      { name: '[Content_Types].xml', data: '<Types>wordprocessingml</Types>' },
      { name: 'word/document.xml', data: '<a/>' },
    ]),
    { refused: 'FILE_UNSUPPORTED', saying: 'Word' },
  ],
  ['HTML called .xls', '<html><table><tr><td>1', { refused: 'FILE_UNSUPPORTED', saying: 'HTML' }],
  [
    'an Excel 2003 XML spreadsheet',
    '<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook/>',
    { refused: 'FILE_UNSUPPORTED', saying: '2003' },
  ],

  ['a gzip of a table', gzipSync('a,b\n1,2\n'), { read: 'csv', rows: '.' }],
  ['a gzip, cut off', gzipSync('a,b\n1,2\n').subarray(0, -3), { refused: 'FILE_INCOMPLETE', saying: 'gzip' }],
  [
    'a gzip with trailing data',
    Buffer.concat([gzipSync('a,b\n1,2\n'), Buffer.from('3,4\n')]),
    { refused: 'FILE_INVALID', saying: 'gzip' },
  ],
  [
    'a gzip bomb',
    gzipSync(Buffer.alloc(10_000_000)),
    { refused: 'FILE_TOO_LARGE', saying: 'inflateMaxRatio' },
  ],
  [
    'a zip bomb',
    writeZip([{ name: 'a.csv', ...GIGABYTE_OF_ZEROS }]),
    { refused: 'FILE_TOO_LARGE', saying: 'inflateMaxRatio' },
  ],
  [
    'a zip of a table',
    writeZip([{ name: '../../../etc/a.csv', data: 'a,b\n1,2\n' }]),
    { read: 'csv', rows: '.' },
  ],
  [
    'a zip in a zip',
    writeZip([{ name: 'a', data: writeZip([{ name: 'b', data: 'c' }]) }]),
    { refused: 'FILE_UNSUPPORTED', saying: 'a zip inside a zip' },
  ],
  [
    'a zip of 100,000 files',
    writeZip(Array.from({ length: 100_000 }, (_, i) => ({ name: `${i}`, data: '', store: true }))),
    { refused: 'FILE_TOO_LARGE', saying: 'archiveMaxEntries' },
  ],
  [
    'a zip with a password',
    writeZip([{ name: 'a', data: 'x', encrypted: true }]),
    { refused: 'FILE_UNSUPPORTED', saying: 'encrypted' },
  ],
  [
    'a zip of images',
    writeZip([
      { name: 'a', data: png(1, 1) },
      { name: 'b', data: jpeg(1, 1) },
    ]),
    { refused: 'FILE_UNSUPPORTED', saying: 'a zip of images' },
  ],

  ['a PNG called .csv', png(1, 1), { refused: 'FILE_UNSUPPORTED', saying: 'a single png image' }],
  [
    'an SVG',
    '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    { refused: 'FILE_UNSUPPORTED', saying: 'SVG' },
  ],
  ['a PDF', '%PDF-1.4\n', { refused: 'FILE_UNSUPPORTED', saying: 'a PDF' }],
  [
    'a Parquet file',
    Buffer.from('PAR1\x15\x04\x15\x00PAR1', 'latin1'),
    { refused: 'FILE_UNSUPPORTED', saying: 'Parquet' },
  ],
  ['a 7z', Buffer.from('7z\xbc\xaf\x27\x1c\0\x04', 'latin1'), { refused: 'FILE_UNSUPPORTED', saying: '7z' }],
  [
    'random bytes',
    Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919 + (i >> 3)) % 32)),
    { refused: 'FILE_UNSUPPORTED', saying: 'binary data' },
  ],
];

function fate(row: ReadRow): string {
  if (row.kind === 'rejected') return 'r';
  return row.repair === null ? '.' : 'n';
}

describe('a file of the corpus', () => {
  it.each(CORPUS)('has its expected result: %s', async (_, content, outcome) => {
    const read = withRows(files.write(content), {}, shippedLimits(), async (reader) => ({
      read: reader.detected.format,
      rows: (await allRows(reader)).map(fate).join(''),
    }));
    if ('read' in outcome) expect(await read).toEqual(outcome);
    else {
      await expect(read).rejects.toMatchObject({
        code: outcome.refused,
        message: expect.stringContaining(outcome.saying),
      });
    }
  });

  it('changes no prototype of objects', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});
