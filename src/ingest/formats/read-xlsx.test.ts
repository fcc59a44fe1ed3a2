import { type CellValue, writeXlsx, XlsxStreamWriter } from 'hucre/xlsx';
import { beforeAll, describe, expect, it } from 'vitest';
import { allRows, shippedLimits, useTestFiles } from '../../../test/support/file-rows.ts';
import {
  type HandMadeWorkbook,
  sheetXml,
  workbookParts,
  writeWorkbook,
} from '../../../test/support/workbook-writer.ts';
import { writeZip } from '../../../test/support/zip-writer.ts';
import { withRows as withXlsx } from '../open-rows.ts';
import type { FormatOptions, ReadLimits, ReadRow, RowReader } from '../row-reader.ts';

const files = useTestFiles();
const limits = shippedLimits();

async function read(workbook: Uint8Array, options: FormatOptions = {}, changed: Partial<ReadLimits> = {}) {
  return withXlsx(files.write(Buffer.from(workbook)), options, { ...limits, ...changed }, async (reader) => ({
    detected: reader.detected,
    headers: reader.headers,
    rows: await allRows(reader),
  }));
}

function readData(data: string, more: Partial<HandMadeWorkbook> = {}, options: FormatOptions = {}) {
  return read(writeWorkbook({ sheets: [{ name: 'One', data }], ...more }), options);
}

/** A row of texts. An empty text adds no cell. */
function row(number: number, ...cells: string[]): string {
  const letter = (i: number) => String.fromCharCode(65 + i);
  const xml = cells.map((text, i) =>
    text === '' ? '' : `<c r="${letter(i)}${number}" t="inlineStr"><is><t>${text}</t></is></c>`,
  );
  return `<row r="${number}">${xml.join('')}</row>`;
}

function cells(line: number, ...values: string[]): ReadRow {
  return { kind: 'cells', line, cells: values, repair: null };
}

describe('a workbook that a program wrote', () => {
  it('is read as rows of text and a header', async () => {
    const workbook = await writeXlsx({
      sheets: [
        {
          name: 'Prices',
          columns: [
            { header: 'id' },
            { header: 'price' },
            { header: 'day' },
            { header: 'sold' },
            { header: 'name' },
          ],
          rows: [
            ['id', 'price', 'day', 'sold', 'name'],
            [1, 9.99, new Date('2024-01-31T00:00:00Z'), true, 'Straße & <Co>'],
            [2, -0.5, new Date('2024-01-31T09:30:00Z'), false, '_x0041_ 😀\nline'],
          ] as CellValue[][],
        },
      ],
    });
    const { detected, headers, rows } = await read(workbook);
    expect(headers).toEqual(['id', 'price', 'day', 'sold', 'name']);
    expect(detected).toEqual({
      format: 'xlsx',
      sheet: 'Prices',
      sheets: ['Prices'],
      table: { header: true, skipLines: 0, line: 1 },
      warnings: [],
    });
    expect(rows.slice(0, 1)).toEqual([
      { ...cells(2, '1', '9.99', '2024-01-31', 'TRUE', 'Straße & <Co>'), types: 'nndb ' },
    ]);
    expect(rows[1]).toMatchObject({
      line: 3,
      cells: ['2', '-0.5', '2024-01-31T09:30:00', 'FALSE', expect.any(String)],
    });
  });

  it('yields many rows in order, even to a slow consumer', async () => {
    const writer = new XlsxStreamWriter({ name: 'Many', columns: [{ header: 'n' }, { header: 'text' }] });
    for (let i = 0; i < 20_000; i += 1) writer.addRow([i, `text ${i % 100}`]);
    const path = files.write(Buffer.from(await writer.finish()));
    await withXlsx(path, {}, limits, async (reader) => {
      let next = 0;
      for await (const batch of reader.rows()) {
        for (const each of batch) {
          expect(each).toMatchObject(cells(next + 2, String(next), `text ${next % 100}`));
          next += 1;
        }
        await new Promise(setImmediate);
      }
      expect(next).toBe(20_000);
    });
  });

  it('is read again with the same rows, and can be left midway', async () => {
    const writer = new XlsxStreamWriter({ name: 'Many', columns: [{ header: 'n' }] });
    for (let i = 0; i < 5000; i += 1) writer.addRow([i]);
    const path = files.write(Buffer.from(await writer.finish()));
    await withXlsx(path, {}, limits, async (reader) => {
      for await (const batch of reader.rows()) {
        expect(batch.length).toBeGreaterThan(0);
        break;
      }
      const again = await allRows(reader);
      expect(again).toHaveLength(5000);
      expect(await allRows(reader)).toEqual(again);
    });
  });

  it('throws when it is read after it is closed, instead of seeming to be empty', async () => {
    let kept: RowReader | undefined;
    const path = files.write(writeWorkbook({ sheets: [{ name: 'One', data: row(1, 'a') + row(2, '1') }] }));
    await withXlsx(path, {}, limits, async (reader) => {
      kept = reader;
    });
    await expect(allRows(kept!)).rejects.toThrow('after the file is closed');
    await expect(allRows(kept!)).rejects.toThrow('after the file is closed');
  });
});

describe('a cell', () => {
  const STYLES =
    '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0.0%"/><numFmt numFmtId="165" formatCode="[h]:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>';
  const STRINGS =
    '<sst><si><t>plain</t></si><si><r><t>rich </t></r><r><rPr><b/></rPr><t>text</t></r><rPh><t>phonetic</t></rPh></si><si><t xml:space="preserve"> blanks _x000D_ </t></si></sst>';

  const CELLS: [string, string, string, string | null][] = [
    ['a number', '<c r="A2"><v>12</v></c>', '12', null],
    ['a long id', '<c r="A2"><v>12345678901234567</v></c>', '12345678901234567', null],
    ['a percentage, unformatted', '<c r="A2" s="2"><v>0.125</v></c>', '0.125', null],
    ['a date', '<c r="A2" s="1"><v>45322</v></c>', '2024-01-31', null],
    ['a time', '<c r="A2" s="4"><v>0.5</v></c>', '12:00:00', null],
    ['a duration', '<c r="A2" s="3"><v>1.5</v></c>', '36:00:00', null],
    ['a date by its type', '<c r="A2" t="d"><v>2024-01-31T00:00:00</v></c>', '2024-01-31', null],
    ['a moment by its type', '<c r="A2" t="d"><v>2024-01-31T09:30:00Z</v></c>', '2024-01-31T09:30:00', null],
    ['a shared text', '<c r="A2" t="s"><v>0</v></c>', 'plain', null],
    ['a rich text, flattened', '<c r="A2" t="s"><v>1</v></c>', 'rich text', null],
    ['a text with blanks', '<c r="A2" t="s"><v>2</v></c>', ' blanks \r ', null],
    [
      'an inline rich text',
      '<c r="A2" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>',
      'ab',
      null,
    ],
    ['a boolean', '<c r="A2" t="b"><v>1</v></c>', 'TRUE', null],
    ['a formula with its value', '<c r="A2"><f>1+1</f><v>2</v></c>', '2', null],
    ['a formula with its text', '<c r="A2" t="str"><f>A1</f><v>x &amp; y</v></c>', 'x & y', null],
    [
      'a formula with an empty text',
      '<c r="A2" t="str"><f>A1</f><v></v></c><c r="B2"><v>1</v></c>',
      '',
      null,
    ],
    ['a formula without value', '<c r="A2"><f>SUM(B:B)</f></c>', '', 'A2: the formula has no stored value'],
    ['an error', '<c r="A2" t="e"><v>#N/A</v></c>', '#N/A', 'A2: the cell holds the error #N/A'],
    ['an invalid date', '<c r="A2" s="1"><v>-5</v></c>', '-5', 'A2: the number has a date format'],
    ['an invalid number', '<c r="A2"><v>abc</v></c>', 'abc', 'A2: the value of the cell is not a number'],
    ['an empty text', '<c r="A2" t="s"><v></v></c><c r="B2"><v>1</v></c>', '', null],
    [
      'a formula whose value was not stored by its writer',
      '<c r="A2"><f>SUM(B:B)</f><v></v></c>',
      '',
      'A2: the formula has no stored value',
    ],
    [
      'an inline text and a value',
      '<c r="A2" t="inlineStr"><is><t>abc</t></is><v>5</v></c>',
      'abc',
      'A2: the cell has both an inline text and a value; the text is read',
    ],
    [
      'a value and an inline text',
      '<c r="A2"><is><t>abc</t></is><v>5</v></c>',
      '5',
      'A2: the cell has both an inline text and a value; the value is read',
    ],
    ['two values', '<c r="A2"><v>5</v><v>6</v></c>', '5', 'A2: the cell has more than one value'],
    [
      'a number of 20 digits, written out',
      '<c r="A2"><v>12345678901234567890</v></c>',
      '12345678901234567890',
      null,
    ],
    [
      'a number of 20 digits, rounded',
      '<c r="A2"><v>1.2345678901234567E+19</v></c>',
      '12345678901234567000',
      'A2: the number has more digits',
    ],
    [
      'a number in the notation of a double',
      '<c r="A2"><v>0.30000000000000004</v></c>',
      '0.30000000000000004',
      null,
    ],
    ['a text that is missing', '<c r="A2" t="s"><v>99</v></c>', '', 'A2: the text that the cell refers to'],
    [
      'a huge index of a text',
      '<c r="A2" t="s"><v>length</v></c>',
      '',
      'A2: the text that the cell refers to',
    ],
  ];

  // One workbook for all, each cell in its own row: a thread per cell would take most of the time.
  const lineOf = (name: string): number => CELLS.findIndex((each) => each[0] === name) + 2;
  let rows: ReadRow[];
  beforeAll(async () => {
    const data = CELLS.map(([name, cell]) => {
      const line = lineOf(name);
      return `<row r="${line}">${cell.replace(/ r="([AB])2"/g, ` r="$1${line}"`)}</row>`;
    });
    const parts = { sharedStrings: STRINGS, styles: STYLES };
    ({ rows } = await readData(row(1, 'a', 'b') + data.join(''), parts, { header: true }));
  });

  it.each(CELLS)('with %s is %s', (name, _, text, note) => {
    const line = lineOf(name);
    const found = rows.find((each) => each.line === line);
    const said = note?.replace('A2:', `A${line}:`);
    expect(found).toMatchObject({ kind: 'cells', repair: said ? expect.stringContaining(said) : null });
    expect((found as { cells: string[] }).cells[0]).toBe(text);
  });

  it('with a date counted from 1904 is that date', async () => {
    const data = `${row(1, 'a')}<row r="2"><c r="A2" s="1"><v>43860</v></c></row>`;
    const { rows } = await readData(data, { styles: STYLES, date1904: true });
    expect(rows).toMatchObject([cells(2, '2024-01-31')]);
  });

  it('counts dates from 1904 only if an element of the main namespace is set so', async () => {
    const data = `${row(1, 'a')}<row r="2"><c r="A2" s="1"><v>43860</v></c></row>`;
    const workbook = (properties: string, prefix = '') =>
      writeZip(
        workbookParts({ sheets: [{ name: 'One', data }], styles: STYLES }).map((part) =>
          part.name === 'xl/workbook.xml'
            ? {
                ...part,
                data: String(part.data)
                  .replace('<workbookPr/>', properties)
                  .replace(/(<\/?)(workbook|sheets|sheet|workbookPr)(?=[ />])/g, `$1${prefix}$2`)
                  .replace('xmlns=', prefix === '' ? 'xmlns=' : `xmlns:${prefix.slice(0, -1)}=`),
              }
            : part,
        ),
      );
    const extension =
      '<extLst><ext xmlns:x15="http://schemas.microsoft.com/office/spreadsheetml/2010/11/main"><x15:workbookPr chartTrackingRefBase="1"/></ext></extLst>';
    const in1904 = ['2024-01-31'];
    for (const [properties, prefix, expected] of [
      [`<workbookPr date1904="1"/>${extension}`, '', in1904],
      ['<workbookPr date1904="true"/>', 'x:', in1904],
      [`<workbookPr/>${extension.replace('chartTrackingRefBase', 'date1904')}`, '', ['2020-01-30']],
    ] as const) {
      const { rows } = await read(workbook(properties, prefix));
      expect(rows).toMatchObject([{ cells: expected }]);
    }
  });

  it('at the start of a merged range has the value, and the others are empty', async () => {
    const xml = sheetXml(row(1, 'a', 'b', 'c') + row(2, 'merged', '', 'x')).replace(
      '</sheetData>',
      '</sheetData><mergeCells><mergeCell ref="A2:B2"/></mergeCells>',
    );
    const { rows } = await read(writeWorkbook({ sheets: [{ name: 'One', xml }] }));
    expect(rows).toEqual([cells(2, 'merged', '', 'x')]);
  });
});

describe('a row', () => {
  it('has the number of the sheet, and is skipped if it is empty', async () => {
    const styled = '<row r="5"><c r="A5" s="0"/><c r="B5"/></row>';
    const { headers, rows } = await readData(row(3, 'a', 'b') + row(4, '1', '2') + styled + row(9, '3', '4'));
    expect(headers).toEqual(['a', 'b']);
    expect(rows).toEqual([cells(4, '1', '2'), cells(9, '3', '4')]);
  });

  it('without a number follows the row before it', async () => {
    const data = '<row><c><v>1</v></c><c><v>2</v></c></row><row><c><v>3</v></c><c r="B2"><v>4</v></c></row>';
    expect((await readData(data, {}, { header: true })).rows).toMatchObject([cells(2, '3', '4')]);
  });

  it('that is shorter than the header is padded with empty cells, without a repair note', async () => {
    expect((await readData(row(1, 'a', 'b', 'c') + row(2, '1') + row(3, '', '', '3'))).rows).toEqual([
      cells(2, '1', '', ''),
      cells(3, '', '', '3'),
    ]);
  });

  it('with a value beyond the header is rejected, with its values', async () => {
    expect((await readData(row(1, 'a', 'b') + row(2, '1', '2', '', '4') + row(3, '5'))).rows).toEqual([
      {
        kind: 'rejected',
        line: 2,
        reason: 'expected nothing after the last named column (B), got a value in D2',
        raw: '1\t2\t\t4',
      },
      cells(3, '5', ''),
    ]);
  });

  it('that is too large is rejected, with the limit', async () => {
    const workbook = writeWorkbook({
      sheets: [
        {
          name: 'One',
          data:
            row(1, 'a', 'b') +
            row(2, 'x'.repeat(50), 'y') +
            row(3, 'x'.repeat(45), 'y'.repeat(45)) +
            row(4, '1'),
        },
      ],
    });
    expect((await read(workbook, {}, { maxCellBytes: 49 })).rows).toMatchObject([
      { kind: 'rejected', line: 2, reason: 'cell A2 has more than 49 bytes (ingestMaxCellBytes)' },
      { kind: 'cells', line: 3 },
      { kind: 'cells', line: 4 },
    ]);
    expect((await read(workbook, {}, { maxRowBytes: 89 })).rows).toMatchObject([
      { kind: 'cells', line: 2 },
      { kind: 'rejected', line: 3, reason: 'the row has more than 89 bytes (ingestMaxRowBytes)' },
      { kind: 'cells', line: 4 },
    ]);
  });

  it('keeps hostile headers as plain text', async () => {
    const { headers } = await readData(
      row(1, '__proto__', 'constructor', 'toString') + row(2, '1', '2', '3'),
    );
    expect(headers).toEqual(['__proto__', 'constructor', 'toString']);
  });
});

describe('the header', () => {
  const DATA = row(1, 'Report', '2024') + row(3, 'a', 'b') + row(4, '1', '2');

  it('comes after the skipped rows, which become the preamble', async () => {
    const { detected, headers, rows } = await readData(DATA, {}, { skipLines: 2 });
    expect(detected.preamble).toBe('Report\t2024');
    expect(headers).toEqual(['a', 'b']);
    expect(rows).toEqual([cells(4, '1', '2')]);
  });

  it('is never one of the skipped rows, up to the last of them', async () => {
    expect((await readData(DATA, {}, { skipLines: 1 })).headers).toEqual(['a', 'b']);
    expect((await readData(DATA, {}, { skipLines: 3 })).headers).toEqual(['1', '2']);
  });

  it('may be absent', async () => {
    const { headers, rows } = await readData(row(1, '1') + row(2, '2', 'b'), {}, { header: false });
    expect(headers).toEqual(['column_1', 'column_2']);
    expect(rows).toEqual([cells(1, '1', ''), cells(2, '2', 'b')]);
  });

  it('may be replaced', async () => {
    expect((await readData(DATA, {}, { skipLines: 2, columns: ['x', 'y'] })).headers).toEqual(['x', 'y']);
    const { headers, rows } = await readData(DATA, {}, { header: false, columns: ['x', 'y', 'z'] });
    expect(headers).toEqual(['x', 'y', 'z']);
    expect(rows.at(-1)).toEqual(cells(4, '1', '2', ''));
    for (const options of [
      { skipLines: 2, columns: ['x'] },
      { header: false, columns: ['x'] },
    ]) {
      await expect(readData(DATA, {}, options)).rejects.toMatchObject({ code: 'FILE_OPTION_INVALID' });
    }
  });

  it('may have empty names inside, but not at its end, and blanks around them', async () => {
    expect((await readData(row(1, ' a ', '', 'c', ''))).headers).toEqual(['a', '', 'c']);
  });

  it('has at most as many columns as allowed', async () => {
    const workbook = writeWorkbook({ sheets: [{ name: 'One', data: row(1, 'a', 'b', 'c') }] });
    expect((await read(workbook, {}, { maxColumns: 3 })).headers).toHaveLength(3);
    await expect(read(workbook, {}, { maxColumns: 2 })).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: expect.stringContaining('ingestMaxColumns'),
    });
  });
});

describe('the sheet', () => {
  const WORKBOOK = writeWorkbook({
    sheets: [
      { name: 'Hidden', data: row(1, 'h'), state: 'hidden' },
      { name: 'Empty', data: '<row r="1"><c r="A1" s="0"/><c r="B1" t="s"><v>0</v></c></row>' },
      { name: 'First', data: row(1, 'a') + row(2, '1') },
      { name: '2024', data: row(1, 'b') + row(2, '2') },
      { name: 'Blank', data: '' },
    ],
    sharedStrings: '<sst><si><t></t></si></sst>',
  });

  it('is the first that is visible and not empty, with a warning about the others', async () => {
    const { detected, headers } = await read(WORKBOOK);
    expect(headers).toEqual(['a']);
    expect(detected).toMatchObject({ sheet: 'First', sheets: ['Hidden', 'Empty', 'First', '2024', 'Blank'] });
    expect(detected.warnings).toEqual([
      'Only the sheet "First" is read. Other sheets with data: "Hidden" (hidden), "2024". To run one, create another job from this file and choose its sheet (--sheet on the command line).',
    ]);
  });

  it.each([
    ['2024', '2024'],
    ['first', 'First'],
    ['4', '2024'],
    ['1', 'Hidden'],
  ])('is the stated one: %s', async (wanted, name) => {
    const { detected } = await read(WORKBOOK, { sheet: wanted });
    expect(detected).toMatchObject({ sheet: name, warnings: [] });
  });

  it.each(['0', '6', 'Nope', ''])('must exist: %j', async (wanted) => {
    await expect(read(WORKBOOK, { sheet: wanted })).rejects.toMatchObject({
      code: 'FILE_OPTION_INVALID',
      message: expect.stringContaining('"First"'),
    });
  });

  it('must not be empty', async () => {
    await expect(readData('')).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining('empty'),
    });
    const hidden = writeWorkbook({ sheets: [{ name: 'H', data: row(1, 'a'), state: 'veryHidden' }] });
    await expect(read(hidden)).rejects.toMatchObject({ message: expect.stringContaining('hidden "H"') });
  });

  it('with a header alone has no rows', async () => {
    expect((await readData(row(1, 'a'))).rows).toEqual([]);
  });
});

describe('a handmade sheet', () => {
  const TABLE = (from: number) =>
    row(from, 'id', 'name', 'price') +
    row(from + 1, '1', 'Ann', '2') +
    row(from + 2, '2', 'Bob', '3') +
    row(from + 3, '3', 'Cy', '4');

  it('shows its merged title and notes above the table, and does not read them as rows', async () => {
    const { detected, headers, rows } = await readData(row(1, 'Report 2024') + row(2, 'in EUR') + TABLE(4));
    expect(headers).toEqual(['id', 'name', 'price']);
    expect(rows.map((each) => each.kind)).toEqual(['cells', 'cells', 'cells']);
    expect(detected).toMatchObject({
      preamble: 'Report 2024\nin EUR',
      table: { header: true, skipLines: 3, line: 4 },
      warnings: ['Rows 1 to 2 above the table were not read as rows: Report 2024 / in EUR.'],
    });
  });

  it('keeps its first row when it has no header', async () => {
    const { headers, rows } = await readData(row(1, '1', '2.5') + row(2, '2', '3.5'));
    expect(headers).toEqual(['column_1', 'column_2']);
    expect(rows).toEqual([cells(1, '1', '2.5'), cells(2, '2', '3.5')]);
  });

  it('may begin in another column, whose left side must stay empty', async () => {
    const data = row(3, '', '', 'a', 'b') + row(4, '', '', '1', '2') + row(5, '', '', '3', '4');
    const { detected, headers, rows } = await readData(data);
    expect(headers).toEqual(['a', 'b']);
    expect(rows).toEqual([cells(4, '1', '2'), cells(5, '3', '4')]);
    expect(detected.table).toEqual({ header: true, skipLines: 0, line: 3, firstColumn: 2 });
    const many = Array.from({ length: 1100 }, (_, i) => row(i + 4, '', '', `${i}`, 'x')).join('');
    const late = (await readData(row(3, '', '', 'a', 'b') + many + row(2000, 'stray', '', '1', '2'))).rows;
    expect(late.at(-1)).toMatchObject({
      kind: 'rejected',
      reason: 'expected nothing before the first named column (C), got a value in A2000',
    });
  });

  it('rejects notes and totals below its table with the reason, and keeps a company called Total', async () => {
    const { rows } = await readData(
      `${TABLE(1)}${row(5, '4', 'Total', '9')}${row(6, 'Total', '', '18')}${row(8, 'Source: own research')}${row(9, '* estimated')}${row(11, 'x7')}`,
    );
    expect(rows.slice(3)).toEqual([
      cells(5, '4', 'Total', '9'),
      {
        kind: 'rejected',
        line: 6,
        reason: 'the row looks like a total: A6 is "Total", and B6 is empty, unlike in other rows',
        raw: 'Total\t\t18',
      },
      {
        kind: 'rejected',
        line: 8,
        reason: 'the row looks like a note: of 3 columns, only A8 has a value',
        raw: 'Source: own research',
      },
      expect.objectContaining({ kind: 'rejected', line: 9 }),
      cells(11, 'x7', '', ''),
    ]);
  });

  it('reports its row of units and does not read it as a row', async () => {
    const { detected, rows } = await readData(
      row(1, 'name', 'weight', 'height') + row(2, '', 'kg', 'cm') + row(3, 'Ann', '60', '170'),
    );
    expect(rows).toEqual([cells(3, 'Ann', '60', '170')]);
    expect(detected.warnings).toEqual(['Row 2 holds units and was not read as a row: kg cm.']);
  });

  it('may have names in two rows', async () => {
    const { detected, headers, rows } = await readData(
      row(1, '', '2023', '', '2024', '') +
        row(2, 'Region', 'Q1', 'Q2', 'Q1', 'Q2') +
        row(3, 'North', '1', '2', '3', '4'),
    );
    expect(headers).toEqual(['Region', '2023 Q1', '2023 Q2', '2024 Q1', '2024 Q2']);
    expect(rows).toEqual([cells(3, 'North', '1', '2', '3', '4')]);
    expect(detected.warnings).toEqual(['The names of the columns are in rows 1 and 2.']);
  });

  it('is refused if most of its rows do not fit, with the numbers and what to do', async () => {
    const misfits = Array.from({ length: 6 }, (_, i) => row(i + 2, '1', '2', '3', '4')).join('');
    await expect(readData(row(1, 'a', 'b', 'c') + misfits + row(9, '1', '2'))).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message:
        'expected most rows to fit the 3 columns, but 6 of the first 7 do not (row 2: expected nothing after the last named column (C), got a value in D2); the sheet "One" was read with the header in row 1',
      hint: expect.stringContaining('State the sheet, the rows to skip, or that there is no header'),
    });
  });

  it('is read again in its detected layout, or in the old one if no layout is stored', async () => {
    const workbook = writeWorkbook({ sheets: [{ name: 'One', data: row(1, 'Report 2024') + TABLE(3) }] });
    const { detected, headers, rows } = await read(workbook);
    const again = await read(workbook, { format: 'xlsx', sheet: 'One', found: detected });
    expect(again).toMatchObject({ headers, rows, detected: { table: detected.table! } });
    const { table: _, ...old } = detected;
    const before = await read(workbook, { format: 'xlsx', sheet: 'One', found: old });
    expect(before.headers).toEqual(['Report 2024']);
    expect(before.rows.map((each) => each.kind)).toEqual(Array(4).fill('rejected'));
  });

  it('warns of formulas whose values were never stored', async () => {
    const formulas = [2, 3, 4].map(
      (n) => `<row r="${n}"><c r="A${n}"><v>1</v></c><c r="B${n}"><f>A${n}</f><v/></c></row>`,
    );
    const { detected } = await readData(row(1, 'a', 'b') + formulas.join(''));
    expect(detected.warnings).toEqual([
      expect.stringMatching(/^3 of the first 3 rows have formulas without/),
    ]);
  });
});

describe('the sheet that is read', () => {
  const DATA =
    row(1, 'id', 'name') + Array.from({ length: 60 }, (_, i) => row(i + 2, `${i}`, `n${i}`)).join('');
  const small = row(1, 'code', 'label') + row(2, 'a', 'b') + row(3, 'c', 'd') + row(4, 'e', 'f');

  it.each<[string, HandMadeWorkbook['sheets'], string]>([
    [
      'is the one with the data after a sheet of one cell',
      [
        { name: 'Notes', data: row(1, 'Notes') },
        { name: 'Data', data: DATA },
      ],
      'Data',
    ],
    [
      'is the one with the data after a page of prose',
      [
        {
          name: 'Read me',
          data: Array.from({ length: 30 }, (_, i) => row(i + 1, `This is line ${i} of many words.`)).join(''),
        },
        { name: 'Data', data: DATA },
      ],
      'Data',
    ],
    [
      'is the first if that is merely a smaller table',
      [
        { name: 'Codes', data: small },
        { name: 'Data', data: DATA },
      ],
      'Codes',
    ],
    [
      'is not a hidden one',
      [
        { name: 'Notes', data: row(1, 'Notes') },
        { name: 'Data', data: DATA, state: 'hidden' },
      ],
      'Notes',
    ],
  ])('%s, with a warning', async (_, sheets, chosen) => {
    const { detected } = await read(writeWorkbook({ sheets }));
    expect(detected.sheet).toBe(chosen);
    expect(detected.warnings.at(-1)).toMatch(/^Only the sheet/);
  });

  it('is not a pivot table of the data', async () => {
    const pivot =
      row(1, 'Row Labels', 'Sum') + Array.from({ length: 9 }, (_, i) => row(i + 2, `n${i}`, '1')).join('');
    const relation = {
      name: 'xl/worksheets/_rels/sheet1.xml.rels',
      data: '<Relationships><Relationship Id="a" Type="http://x/relationships/pivotTable" Target="../p.xml"/></Relationships>',
    };
    const sheets = [
      { name: 'Pivot', data: pivot },
      { name: 'Data', data: DATA },
    ];
    expect((await read(writeWorkbook({ sheets, extra: [relation] }))).detected.sheet).toBe('Data');
    expect((await read(writeWorkbook({ sheets }))).detected.sheet).toBe('Pivot');
  });
});

describe('a hostile workbook', () => {
  it('with a value in the last column of every row is not padded up to it', async () => {
    const far = Array.from(
      { length: 3000 },
      (_, i) => `<row r="${i + 2}"><c r="A${i + 2}"><v>1</v></c><c r="XFD${i + 2}"><v>2</v></c></row>`,
    ).join('');
    const good = Array.from({ length: 3000 }, (_, i) => row(i + 5000, '1')).join('');
    const workbook = writeWorkbook({ sheets: [{ name: 'One', data: `${row(1, 'a')}${far}${good}` }] });
    // With padding, these rows would be 49 million cells.
    const { rows } = await read(workbook, { found: { format: 'xlsx', warnings: [] } }, { xlsxMemoryMb: 64 });
    expect(rows.filter((each) => each.kind === 'rejected')).toHaveLength(3000);
    expect(rows[0]).toMatchObject({
      reason: 'expected nothing after the last named column (A), got a value in XFD2',
    });
    expect(rows.filter((each) => each.kind === 'cells')).toHaveLength(3000);
  });

  it.each<[string, string, string]>([
    ['with a row too far down', '<row r="1048577"><c><v>1</v></c></row>', '1048577'],
    ['with a row zero', '<row r="0"><c><v>1</v></c></row>', 'row 0'],
    ['with a row that is not a number', '<row r="x"><c><v>1</v></c></row>', 'row x'],
    ['with a column too far right', '<row r="1"><c r="XFE1"><v>1</v></c></row>', 'XFE1'],
    ['with a column without letters', '<row r="1"><c r="12"><v>1</v></c></row>', 'cell 12'],
    ['with a very long column', `<row r="1"><c r="${'Z'.repeat(5000)}1"><v>1</v></c></row>`, 'ZZZ'],
    ['with a cell twice', '<row r="1"><c r="A1"><v>1</v></c><c r="A1"><v>2</v></c></row>', 'A1 twice'],
    ['that ends midway', '</sheetData><sheetData><row r="1">', 'proper XML'],
    ['with a declaration inside', '<!ENTITY a "b">', 'document type'],
  ])('%s is refused', async (_, data, message) => {
    await expect(readData(data)).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining(message),
    });
  });

  it('with the last possible cell is read', async () => {
    const { rows } = await readData(`${row(1, 'a')}<row r="1048576"><c r="A1048576"><v>1</v></c></row>`);
    expect(rows).toMatchObject([cells(1_048_576, '1')]);
  });

  it.each(['A1:XFE5', 'A1:A1048577', 'ZZZZZZ1'])('with the dimension %s is refused', async (reference) => {
    const xml = sheetXml(row(1, 'a')).replace('<sheetData>', `<dimension ref="${reference}"/><sheetData>`);
    await expect(read(writeWorkbook({ sheets: [{ name: 'One', xml }] }))).rejects.toMatchObject({
      code: 'FILE_INVALID',
    });
  });

  it('whose strings do not fit in memory is refused, with the name of the setting', async () => {
    const strings = `<sst>${Array.from({ length: 900_000 }, (_, i) => `<si><t>${i.toString(36)}</t></si>`).join('')}</sst>`;
    const data = `<row r="1"><c r="A1" t="s"><v>0</v></c></row>`;
    const workbook = writeWorkbook({ sheets: [{ name: 'One', data }], sharedStrings: strings });
    await expect(read(workbook, {}, { xlsxMemoryMb: 64 })).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: expect.stringContaining('xlsxMemoryMb'),
    });
    expect((await read(workbook, {}, { xlsxMemoryMb: 256 })).headers).toEqual(['0']);
  });

  it('whose thread runs out of memory is refused, and the process survives', async () => {
    const data = `<row r="1"><c r="A1"><v>1</v></c></row>`;
    await expect(
      read(writeWorkbook({ sheets: [{ name: 'One', data }] }), {}, { xlsxMemoryMb: 1 }),
    ).rejects.toMatchObject({ code: 'FILE_TOO_LARGE', message: expect.stringContaining('xlsxMemoryMb') });
  });

  it('with macros and external links is read without them', async () => {
    const data = `${row(1, 'a')}<row r="2"><c r="A2"><f>[1]Sheet1!$A$1</f><v>7</v></c></row>`;
    const extra = [
      { name: 'xl/vbaProject.bin', data: Buffer.alloc(100, 1) },
      { name: 'xl/externalLinks/externalLink1.xml', data: '<externalLink/>' },
    ];
    expect((await readData(data, { extra })).rows).toMatchObject([cells(2, '7')]);
  });

  it('without its sheet is refused', async () => {
    const parts = writeWorkbook({ sheets: [{ name: 'One', data: row(1, 'a') }] });
    const broken = Buffer.from(
      parts.toString('latin1').replaceAll('worksheets/sheet1.xml', 'worksheets/sheetX.xml'),
      'latin1',
    );
    await expect(read(broken)).rejects.toMatchObject({ code: 'FILE_INVALID' });
  });
});
