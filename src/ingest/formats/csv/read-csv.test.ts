import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { FormatOptions, ReadLimits, ReadRow } from '../../row-reader.ts';
import { openCsv } from './read-csv.ts';

const folder = mkdtempSync(join(tmpdir(), 'rowmill-csv-'));
afterAll(() => rmSync(folder, { recursive: true }));

const LIMITS = { maxColumns: 100, maxCellBytes: 1000, maxRowBytes: 5000 } as ReadLimits;

async function open(content: string | Buffer, options: FormatOptions = {}, limits: Partial<ReadLimits> = {}) {
  const path = join(folder, 'file.csv');
  writeFileSync(path, content);
  return await openCsv(path, options, { ...LIMITS, ...limits });
}

async function readAll(
  content: string | Buffer,
  options: FormatOptions = {},
  limits: Partial<ReadLimits> = {},
) {
  const reader = await open(content, options, limits);
  const rows: ReadRow[] = [];
  for await (const batch of reader.rows()) rows.push(...batch);
  return { ...reader, rows };
}

const kept = (line: number, cells: string[], repair: string | null = null) => ({
  kind: 'cells',
  line,
  cells,
  repair,
});
const rejected = (line: number, reason: string, raw: string) => ({ kind: 'rejected', line, reason, raw });

describe('openCsv', () => {
  it('returns headers, rows and the detected format', async () => {
    const { detected, headers, rows } = await readAll('\ufeffid;name \r\n1;Ann\r\n2;"B;ob"\r\n');
    expect(headers).toEqual(['id', 'name']);
    expect(rows).toEqual([kept(2, ['1', 'Ann']), kept(3, ['2', 'B;ob'])]);
    expect(detected).toEqual({
      format: 'csv',
      encoding: 'utf-8',
      csv: {
        encoding: 'utf-8',
        bom: true,
        delimiter: ';',
        quote: '"',
        escape: '"',
        lineEnd: '\r\n',
        header: true,
        skipLines: 0,
      },
      warnings: [],
    });
  });

  it('returns the same rows on every read', async () => {
    const reader = await open('a,b\n1,2\n3,4\n');
    for (let i = 0; i < 2; i += 1) {
      const lines: number[] = [];
      for await (const batch of reader.rows()) lines.push(...batch.map((row) => row.line));
      expect(lines).toEqual([2, 3]);
    }
  });

  it('yields rows in arrays of at most 500', async () => {
    const reader = await open(`a,b\n${'1,2\n'.repeat(1200)}`);
    const sizes: number[] = [];
    for await (const batch of reader.rows()) sizes.push(batch.length);
    expect(sizes).toEqual([500, 500, 200]);
  });

  it('ends an array early if its rows are large', async () => {
    const limits = { maxCellBytes: 3_000_000, maxRowBytes: 4_000_000 };
    const reader = await open(`a,b\n${`1,${'x'.repeat(2_500_000)}\n`.repeat(4)}`, {}, limits);
    const sizes: number[] = [];
    for await (const batch of reader.rows()) sizes.push(batch.length);
    expect(sizes).toEqual([2, 2]);
  });

  it('can be left midway through a file', async () => {
    const reader = await open(`a,b\n${'1,2\n'.repeat(200_000)}`);
    for await (const batch of reader.rows()) {
      expect(batch).toHaveLength(500);
      break;
    }
    const [first] = (await reader.rows().next()).value as ReadRow[];
    expect(first!.line).toBe(2);
  });

  it('names the columns of a file without a header', async () => {
    const { headers, rows } = await readAll('1,Ann\n2,Bob\n');
    expect(headers).toEqual(['column_1', 'column_2']);
    expect(rows.map((row) => row.line)).toEqual([1, 2]);
  });

  it('uses stated column names, with and without a header', async () => {
    expect((await readAll('a,b\n1,2\n', { columns: ['x', 'y'] })).headers).toEqual(['x', 'y']);
    const named = await readAll('1,2\n3,4\n', { columns: ['x', 'y'] });
    expect(named.headers).toEqual(['x', 'y']);
    expect(named.rows).toHaveLength(2);
    await expect(open('a,b\n1,2\n', { columns: ['x'] })).rejects.toMatchObject({
      code: 'FILE_OPTION_INVALID',
      message: 'expected the option columns to have 2 names, one per column of the file, got 1',
    });
  });

  it('keeps the line numbers after skipped lines', async () => {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const text = ['Report', '', 'a,b', '1,2', '3', '4,5', ''].join(lineEnd);
      const { detected, rows } = await readAll(text);
      expect(detected).toMatchObject({ preamble: 'Report', csv: { skipLines: 2 } });
      expect(rows.map((row) => row.line)).toEqual([4, 5, 6]);
    }
  });

  it('skips the stated number of lines, whatever they contain', async () => {
    const { headers, rows, detected } = await readAll('x,"y\n\nz,1\na,b\n1,2\n', { skipLines: 3 });
    expect(headers).toEqual(['a', 'b']);
    expect(rows).toEqual([kept(5, ['1', '2'])]);
    expect(detected.preamble).toBe('x,"y\n\nz,1');
    await expect(open('a,b\n1,2\n', { skipLines: 9 })).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: 'expected rows after the first 9 lines, got none',
    });
  });

  it('reads a file in the same way again with the detected dialect', async () => {
    for (const text of [
      'sep=;\na;b\n1;2\n',
      'Report\n\na,b\n1,2\n',
      'mail\na@b.com\n',
      'a\tb\n"x" y\t1\n"z" u\t2\n"w" v\t3\n',
    ]) {
      const first = await readAll(text);
      const { encoding, delimiter, quote, header, skipLines, escape: escapeBy } = first.detected.csv!;
      const again = await readAll(text, { encoding, delimiter, quote, header, skipLines, escape: escapeBy });
      expect(again.rows).toEqual(first.rows);
      expect(again.headers).toEqual(first.headers);
      expect(again.detected.csv).toEqual(first.detected.csv);
    }
  });
});

describe('a row', () => {
  it('with too few cells is rejected', async () => {
    const { rows } = await readAll('a,b,c\n1,2,3\n4,5\n6,7,8\n');
    expect(rows[1]).toEqual(rejected(3, 'expected 3 cells, got 2', '4,5'));
  });

  it('with too few cells is padded if shortRows is pad', async () => {
    const { rows } = await readAll('a,b,c\n1,2,3\n4,5\n6\n', { shortRows: 'pad' });
    expect(rows.slice(1)).toEqual([
      kept(3, ['4', '5', ''], '1 missing cell left empty'),
      kept(4, ['6', '', ''], '2 missing cells left empty'),
    ]);
  });

  it('with extra cells is kept with a note if they are empty, and rejected otherwise', async () => {
    const { rows } = await readAll('a,b\n1,2, ,\n3,4\n5,6,7\n8,9\n');
    expect(rows).toEqual([
      kept(2, ['1', '2'], '2 empty cells beyond the last column dropped'),
      kept(3, ['3', '4']),
      rejected(4, 'expected 2 cells, got 3', '5,6,7'),
      kept(5, ['8', '9']),
    ]);
  });

  it('with several repairs has several notes', async () => {
    const bytes = Buffer.concat([
      Buffer.from('a,b\nä,ö\n"x "y" z'),
      Buffer.from([0xff]),
      Buffer.from('",1,\n'),
    ]);
    const { rows } = await readAll(bytes);
    expect(rows[1]).toEqual(
      kept(
        3,
        ['x "y" z\ufffd', '1'],
        'a quote inside a quoted cell was not escaped and was kept as text; 1 empty cell beyond the last column dropped; bytes that are not utf-8 replaced by U+FFFD',
      ),
    );
  });

  it('is rejected if it or a cell exceeds its limit', async () => {
    const { rows } = await readAll(
      `a,b\n1,${'é'.repeat(501)}\n2,${'é'.repeat(500)}\n3,${'x'.repeat(5000)}\n4,ok\n`,
    );
    expect(rows.map((row) => (row.kind === 'rejected' ? row.reason : 'kept'))).toEqual([
      'expected cell 2 to be at most 1000 bytes (ingestMaxCellBytes), got 1002',
      'kept',
      'expected the row to be at most 5000 bytes (ingestMaxRowBytes), got more',
      'kept',
    ]);
  });

  it('keeps its values unchanged', async () => {
    const cells = ['007', '12345678901234567890', '1e5', 'TRUE', ' x ', '2024-02-30', '\0', '=1+1'];
    const { rows } = await readAll(`a,b,c,d,e,f,g,h\n${cells.join(',')}\n`);
    expect(rows).toEqual([kept(2, cells)]);
  });
});

describe('a file is refused', () => {
  const REFUSED: [
    why: string,
    content: string | Buffer,
    options: FormatOptions,
    code: string,
    message: string,
  ][] = [
    ['when it is empty', '', {}, 'FILE_INVALID', 'expected the file to have rows, got an empty file'],
    [
      'when it is a byte order mark',
      '\ufeff',
      {},
      'FILE_INVALID',
      'expected the file to have rows, got an empty file',
    ],
    [
      'when it has only blank lines',
      ' \n\n\t\r\n',
      {},
      'FILE_INVALID',
      'expected the file to have rows, got only empty lines',
    ],
    [
      'when it is binary',
      Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * 37) % 256)),
      {},
      'FILE_INVALID',
      'expected the file to be text, got 11% control characters: it looks like binary data',
    ],
    [
      'when it has too many columns',
      `${'a,'.repeat(100)}a\n${'1,'.repeat(100)}1\n`,
      {},
      'FILE_TOO_LARGE',
      'expected the file to have at most 100 columns (ingestMaxColumns), got more',
    ],
    [
      'when the name of a column is too long',
      `a,${'x'.repeat(1025)}\n1,2\n3,4\n`,
      {},
      'FILE_INVALID',
      'line 1: expected the name of column 2 to be at most 1024 bytes, got 1025',
    ],
    [
      'when its header cannot be read',
      'a,"b\n1,2,3\n4,5,6\n',
      { header: true, skipLines: 0 },
      'FILE_INVALID',
      'line 1, the header: the quote (") opened on line 1 is not closed: expected a closing quote before "," or a line end',
    ],
    [
      'when most of its rows do not fit',
      'a,b,c\n1,2,3\n1\n2\n1,2\n3\n4\n',
      {},
      'FILE_INVALID',
      'expected most rows to fit the 3 columns, but 5 of the first 6 do not (line 3: expected 3 cells, got 1); the file was read as utf-8, delimiter ",", quote ", header on line 1',
    ],
    [
      'when its delimiter is its quote',
      'a,b\n',
      { delimiter: '"', quote: '"' },
      'FILE_OPTION_INVALID',
      'expected the option quote to be a character that is not in the delimiter, got "\\""',
    ],
    [
      'when its quote is two characters',
      'a,b\n',
      { quote: '""' },
      'FILE_OPTION_INVALID',
      'expected the option quote to be one character, or \'\' for none, got "\\"\\""',
    ],
    [
      'when its quote is a blank',
      'a,b\n',
      { quote: ' ' },
      'FILE_OPTION_INVALID',
      'expected the option quote to be neither a blank, a line end nor a backslash, got " "',
    ],
    [
      'when its delimiter is a line end',
      'a,b\n',
      { delimiter: '\n' },
      'FILE_OPTION_INVALID',
      'expected the option delimiter to be without line ends, got "\\n"',
    ],
    [
      'when its escape is a letter',
      'a,b\n',
      { escape: 'x' },
      'FILE_OPTION_INVALID',
      'expected the option escape to be the quote (when it is doubled) or a backslash, got "x"',
    ],
    [
      'when there is an escape without a quote',
      'a,b\n',
      { quote: '', escape: '\\' },
      'FILE_OPTION_INVALID',
      'expected the option escape to be absent when the option quote is \'\', got "\\\\"',
    ],
    [
      'when half a line is to be skipped',
      'a,b\n',
      { skipLines: 0.5 },
      'FILE_OPTION_INVALID',
      'expected the option skipLines to be a whole number from 0, got 0.5',
    ],
    [
      'when its encoding is unknown',
      'a,b\n',
      { encoding: 'utf-88' },
      'FILE_OPTION_INVALID',
      'expected the option encoding to be a known encoding, got "utf-88"; did you mean utf-8?',
    ],
  ];
  for (const [why, content, options, code, message] of REFUSED) {
    it(why, async () => {
      await expect(open(content, options)).rejects.toMatchObject({ code, message });
    });
  }

  it('but not for rows that do not fit if the delimiter is stated', async () => {
    const { rows } = await readAll('a,b,c\n1,2,3\n1\n2\n', { delimiter: ',' });
    expect(rows.map((row) => row.kind)).toEqual(['cells', 'rejected', 'rejected']);
  });

  it('but not for rows that do not fit after the first thousand', async () => {
    const { rows } = await readAll(`a,b\n${'1,2\n'.repeat(1000)}${'3\n'.repeat(3000)}`);
    expect(rows.filter((row) => row.kind === 'rejected')).toHaveLength(3000);
  });
});
