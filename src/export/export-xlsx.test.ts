import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { readXlsx } from 'hucre/xlsx';
import { describe, expect, it } from 'vitest';
import yauzl from 'yauzl';
import type { ExportColumn } from '../core/files/export-columns.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import type { ExportProgress } from './export-progress.ts';
import { exportXlsx, type XlsxOptions } from './export-xlsx.ts';

type Cell = string | number | boolean | null;

function columnsOf(headers: string[]): ExportColumn[] {
  return headers.map((header, index) => ({ header, source: { from: 'input', key: `k${index}` } }));
}

async function* pagesOf(rows: unknown[][]): AsyncGenerator<ExportRow[]> {
  yield rows.map((cells, seq) => ({
    seq,
    inputJson: JSON.stringify(Object.fromEntries(cells.map((cell, index) => [`k${index}`, cell]))),
    status: 'DONE',
    attempts: 1,
    errorClass: null,
    error: null,
    resultJson: null,
    phase: 0,
    finishedAtMs: 0,
  }));
}

async function write(headers: string[], rows: unknown[][], options: XlsxOptions = {}): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of exportXlsx(pagesOf(rows), columnsOf(headers), options)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

interface Sheet {
  name: string;
  rows: Cell[][];
}

async function sheetsOf(workbook: Buffer): Promise<Sheet[]> {
  const { sheets } = await readXlsx(workbook);
  return sheets.map(({ name, rows }) => ({
    name,
    rows: rows.map((row) => row.map((cell) => (cell === undefined || cell === '' ? null : (cell as Cell)))),
  }));
}

async function cellsOf(value: unknown): Promise<Cell | undefined> {
  const [sheet] = await sheetsOf(await write(['a', 'b'], [[value, 'end']]));
  expect(sheet!.rows[1]![1]).toBe('end');
  return sheet!.rows[1]![0];
}

async function readEntry(workbook: Buffer, name: string): Promise<string> {
  const archive = await promisify<Buffer, yauzl.Options, yauzl.ZipFile>(yauzl.fromBuffer)(workbook, {
    lazyEntries: true,
  });
  return new Promise((resolve, reject) => {
    archive.on('error', reject);
    archive.on('entry', (entry: yauzl.Entry) => {
      if (entry.fileName !== name) return archive.readEntry();
      archive.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(text(stream))));
    });
    archive.readEntry();
  });
}

describe('exportXlsx', () => {
  it.each<[unknown, Cell]>([
    ['text', 'text'],
    [' blanks ', ' blanks '],
    ['two\nlines', 'two\nlines'],
    ['carriage\r\nreturn', 'carriage\r\nreturn'],
    ['tab\there', 'tab\there'],
    ['<b>&amp;</b>', '<b>&amp;</b>'],
    ['😀 ümläut 田中', '😀 ümläut 田中'],
    ['=1+1', '=1+1'],
    ['+1', '+1'],
    ['@SUM(A1)', '@SUM(A1)'],
    ['007', '007'],
    ['TRUE', 'TRUE'],
    ['_x0041_', '_x0041_'],
    ['a_x000D__x0041_b', 'a_x000D__x0041_b'],
    ['_x005F_', '_x005F_'],
    ['bell \u0007 and \u001f', 'bell \u0007 and \u001f'],
    ['no characters \ufffe \uffff', 'no characters \ufffe \uffff'],
    [12, 12],
    [-1.5, -1.5],
    [0.30000000000000004, 0.30000000000000004],
    [1e-7, 1e-7],
    [123_456_789_012_345, 123_456_789_012_345],
    [1_234_567_890_123_456, '1234567890123456'],
    [1e21, '1e+21'],
    [true, true],
    [false, false],
    [null, null],
    ['', null],
    [{ a: 1 }, '{"a":1}'],
  ])('writes %j so that it is read as %j', async (value, expected) => {
    expect(await cellsOf(value)).toBe(expected);
  });

  it('contains no formula, whatever the cells and headers look like', async () => {
    const workbook = await write(['=1+1', '@x'], [['=1+1', '+A1']]);
    expect((await sheetsOf(workbook))[0]!.rows[0]).toEqual(['=1+1', '@x']);
    const xml = await readEntry(workbook, 'xl/worksheets/sheet1.xml');
    expect(xml).toContain('=1+1');
    expect(xml).not.toMatch(/<f[ >/]/);
  });

  it('cuts a text that is too long for a cell, with a mark, and never within a character', async () => {
    expect(await cellsOf('x'.repeat(32_767))).toBe('x'.repeat(32_767));
    const cut = (await cellsOf('x'.repeat(40_000))) as string;
    expect(cut).toHaveLength(32_767);
    expect(cut).toMatch(/^x+… \(cut, 40000 characters\)$/);
    for (const start of ['', 'x']) {
      const pairs = (await cellsOf(start + '😀'.repeat(20_000))) as string;
      expect(pairs.length).toBeLessThanOrEqual(32_767);
      expect(pairs.isWellFormed()).toBe(true);
    }
  });

  it('continues in another sheet, with the header on each', async () => {
    const rows = Array.from({ length: 23 }, (_, n) => [n, `row ${n}`]);
    const sheets = await sheetsOf(await write(['n', 'name'], rows, { sheetRows: 10, sheetName: 'Results' }));
    expect(sheets.map((sheet) => [sheet.name, sheet.rows.length])).toEqual([
      ['Results', 10],
      ['Results_2', 10],
      ['Results_3', 6],
    ]);
    for (const sheet of sheets) expect(sheet.rows[0]).toEqual(['n', 'name']);
    expect(sheets.flatMap((sheet) => sheet.rows.slice(1))).toEqual(rows);
  });

  it('adds no empty sheet when the rows fill the last one exactly', async () => {
    const rows = Array.from({ length: 18 }, (_, n) => [n, n]);
    expect(await sheetsOf(await write(['a', 'b'], rows, { sheetRows: 10 }))).toHaveLength(2);
    expect((await sheetsOf(await write(['a', 'b'], [])))[0]!.rows).toEqual([['a', 'b']]);
  });

  it('keeps every cell of random tables', async () => {
    const anyText = fc.string({ unit: 'binary' }).map((each) => each.toWellFormed());
    const cell = fc.oneof(anyText, fc.integer(), fc.boolean(), fc.constant(null));
    const table = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        const [sheet] = await sheetsOf(await write(['a', 'b', 'c'], rows));
        const read = rows.map((_, n) => [0, 1, 2].map((column) => sheet!.rows[n + 1]?.[column] ?? null));
        expect(read).toEqual(rows.map((row) => row.map((each) => (each === '' ? null : each))));
      }),
      { numRuns: 150 },
    );
  });

  it('refuses more columns than a sheet has', async () => {
    const headers = Array.from({ length: 16_385 }, (_, n) => `c${n}`);
    await expect(write(headers, [])).rejects.toMatchObject({
      code: 'EXPORT_INVALID',
      message: 'expected at most 16384 columns for a sheet, got 16385',
    });
  });

  it('counts rows and bytes, and stops its source when the consumer stops', async () => {
    const progress: ExportProgress = { rowCount: 0, seq: -1, bytes: 0 };
    let isStopped = false;
    async function* endless(): AsyncGenerator<ExportRow[]> {
      try {
        for (;;) yield* pagesOf(Array.from({ length: 100 }, (_, n) => [`${n * 7919} ${n ** 3}`, n]));
      } finally {
        isStopped = true;
      }
    }
    for await (const chunk of exportXlsx(endless(), columnsOf(['a', 'b']), { progress })) {
      expect(chunk.length).toBe(progress.bytes);
      expect(progress.rowCount).toBeGreaterThan(0);
      break;
    }
    expect(isStopped).toBe(true);
  });

  it('passes on the error of its source', async () => {
    async function* failing(): AsyncGenerator<ExportRow[]> {
      yield* pagesOf([[1, 2]]);
      throw new Error('the database went away');
    }
    const read = async (): Promise<void> => {
      for await (const _ of exportXlsx(failing(), columnsOf(['a', 'b']))) {
        // The chunks do not matter.
      }
    };
    await expect(read()).rejects.toThrow('the database went away');
  });
});
