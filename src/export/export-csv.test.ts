import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExportColumn } from '../core/files/export-columns.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import { type CsvOptions, type CsvStyle, exportCsv, STANDARD_CSV } from './export-csv.ts';
import type { ExportProgress } from './export-progress.ts';

function columnsOf(headers: string[]): ExportColumn[] {
  return headers.map((header, index) => ({ header, source: { from: 'input', key: `k${index}` } }));
}

function rowOf(cells: unknown[], seq = 0): ExportRow {
  return {
    seq,
    inputJson: JSON.stringify(Object.fromEntries(cells.map((cell, index) => [`k${index}`, cell]))),
    status: 'DONE',
    attempts: 1,
    errorClass: null,
    error: null,
    resultJson: null,
    phase: 0,
    finishedAtMs: 0,
  };
}

async function* pagesOf(rows: unknown[][], pageRows = 3): AsyncGenerator<ExportRow[]> {
  for (let from = 0; from < rows.length; from += pageRows) {
    yield rows.slice(from, from + pageRows).map((cells, index) => rowOf(cells, from + index));
  }
}

async function write(headers: string[], rows: unknown[][], options: CsvOptions = {}): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of exportCsv(pagesOf(rows), columnsOf(headers), options)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Text that can be stored: no NUL, no lone surrogates. */
const text = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(
        fc.constantFrom('"', ',', ';', '\n', '\r', '\t', ' ', "'", '\\', '=', '-', '\ufeff', 'é', '😀', 'a'),
        { maxLength: 8 },
      )
      .map((parts) => parts.join('')),
  )
  .map((each) => each.toWellFormed().replaceAll('\0', ''));

describe('exportCsv', () => {
  it('writes a file that a parser reads back, whatever the headers and cells contain', async () => {
    const table = fc
      .integer({ min: 1, max: 5 })
      .chain((width) =>
        fc.tuple(
          fc.array(text, { minLength: width, maxLength: width }),
          fc.array(fc.array(text, { minLength: width, maxLength: width }), { maxLength: 8 }),
        ),
      );
    await fc.assert(
      fc.asyncProperty(
        table,
        fc.boolean(),
        fc.constantFrom('\n', '\r\n', '\r' as const),
        async ([headers, rows], bom, lineEnd) => {
          const style = { ...STANDARD_CSV, bom, lineEnd } as CsvStyle;
          const written = await write(headers, rows, { style, raw: true });
          const read = parse(written, {
            bom: true,
            record_delimiter: lineEnd,
            relax_column_count: false,
          }) as string[][];
          expect(read).toEqual([headers, ...rows]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('differs from the raw file only by an apostrophe before cells that look like a formula', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 8 }), async (rows) => {
        const read = parse(await write(['a', 'b'], rows), { bom: true }) as string[][];
        const expected = rows.map((row) => row.map((cell) => (looksLikeFormula(cell) ? `'${cell}` : cell)));
        expect(read.slice(1)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['=1+1', `"'=1+1"`],
    ['+1+1', `"'+1+1"`],
    ['-1+1', `"'-1+1"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['\tx', `"'\tx"`],
    ['\rx', `"'\rx"`],
    ['\nx', `"'\nx"`],
    ['\0=1', `"'\0=1"`],
    ['＝1', `"'＝1"`],
    ['＋1', `"'＋1"`],
    ['－1', `"'－1"`],
    ['＠x', `"'＠x"`],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ['-', `"'-"`],
    ['+49 30 1234', `"'+49 30 1234"`],
    ['-5', '-5'],
    ['+3.2e1', '+3.2e1'],
    ['-1.234,50', '"-1.234,50"'],
    ['-.5', '-.5'],
    ['-5-3', `"'-5-3"`],
    ['-1e5+A1', `"'-1e5+A1"`],
    ['a=1', 'a=1'],
    [' =1', ' =1'],
    ["'=1", "'=1"],
    [-5, '-5'],
    [-1.5e-7, '-1.5e-7'],
    [true, 'true'],
    [['=1'], '"[""=1""]"'],
  ])('writes the cell %j as %j, in a row and as a header', async (cell, written) => {
    expect(await write(['h', 'i'], [[cell, 'x']])).toBe(`h,i\n${written},x\n`);
    expect(await write(['h', 'i'], [['x', cell]])).toBe(`h,i\nx,${written}\n`);
    if (typeof cell === 'string') expect(await write([cell, 'i'], [])).toBe(`${written},i\n`);
  });

  it('writes formulas unchanged to a raw file', async () => {
    expect(await write(['=h'], [['=1+1'], ['@x']], { raw: true })).toBe('=h\n=1+1\n@x\n');
  });

  it.each<[string, Partial<CsvStyle>, unknown[], string]>([
    ['semicolons and CRLF', { delimiter: ';', lineEnd: '\r\n' }, ['a;b', 'c,d'], '"a;b";c,d\r\n'],
    ['tabs without quotes', { delimiter: '\t', quote: '', escape: '' }, ['a\tb\n\nc', '"'], 'a b c\t"\n'],
    ['a backslash as escape', { escape: '\\' }, ['a"b', 'c\\d', 'e'], '"a\\"b","c\\\\d",e\n'],
    ['single quotes', { quote: "'", escape: "'" }, ["it's", 'a"b'], `'it''s',a"b\n`],
    ['two characters between cells', { delimiter: '||' }, ['a|', 'b'], '"a|"||b\n'],
    ['blanks', { delimiter: ' ' }, ['a b', '', 'c\td', 'e'], '"a b" "" "c\td" e\n'],
    ['blanks without quotes', { delimiter: ' ', quote: '', escape: '' }, ['a b', '', 'c'], 'a_b - c\n'],
    ['a hyphen between cells', { delimiter: '-' }, [-5, 'x'], '"-5"-x\n'],
    [
      'special characters of regular expressions',
      { delimiter: '^', quote: ']', escape: ']' },
      ['a^', 'b]'],
      ']a^]^]b]]]\n',
    ],
  ])('writes %s', async (_, style, cells, expected) => {
    const options = { style: { ...STANDARD_CSV, header: false, ...style }, raw: true };
    expect(await write(cells.map(String), [cells], options)).toBe(expected);
  });

  it('writes byte order mark, preamble and header once, and none of them when it resumes', async () => {
    const options: CsvOptions = { style: { ...STANDARD_CSV, bom: true }, preamble: 'Report\n2024\n' };
    expect(await write(['a', 'b'], [[1, 2]], options)).toBe('\ufeffReport\n2024\na,b\n1,2\n');
    expect(await write(['a', 'b'], [[1, 2]], { ...options, isContinued: true })).toBe('1,2\n');
  });

  it('never writes an empty line for a row of one empty cell', async () => {
    expect(await write(['a'], [[''], [null]])).toBe('a\n""\n""\n');
  });

  it('ends every chunk with a row and records which one', async () => {
    const rows = Array.from({ length: 500 }, (_, n) => [`line\n${n}`, 'ü'.repeat(n % 40)]);
    const progress: ExportProgress = { rowCount: 0, seq: -1, bytes: 0 };
    let written = '';
    let chunks = 0;
    for await (const chunk of exportCsv(pagesOf(rows), columnsOf(['a', 'b']), {
      progress,
      chunkBytes: 1000,
    })) {
      written += chunk.toString();
      chunks += 1;
      expect(progress.bytes).toBe(Buffer.byteLength(written));
      const read = parse(written) as string[][];
      expect(read).toHaveLength(progress.rowCount + 1);
      expect(progress.seq).toBe(progress.rowCount - 1);
      expect(read.at(-1)).toEqual(progress.seq < 0 ? ['a', 'b'] : rows[progress.seq]);
    }
    expect(progress.rowCount).toBe(500);
    expect(chunks).toBeGreaterThan(10);
  });
});

/** The quoting rule, implemented independently of the writer. */
function looksLikeFormula(cell: string): boolean {
  if (!['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'].includes(cell[0] ?? '')) return false;
  const digits = cell.replace(/^[+-]/, '').replace(/e[+-]?\d+$/i, '');
  return !(/\d/.test(digits) && [...digits].every((character) => '0123456789.,'.includes(character)));
}
