import { describe, expect, it } from 'vitest';
import type { FormatOptions } from '../../row-reader.ts';
import { detectDialect } from './detect-dialect.ts';

const detect = (text: string, options: FormatOptions = {}) => detectDialect(text, true, options);

/** Delimiter, quote, escape, header, lines skipped, cells per row. */
function summarize(text: string, options: FormatOptions = {}): unknown[] {
  const found = detect(text, options);
  return [found.delimiter, found.quote, found.escape, found.header, found.skipLines, found.width];
}

describe('detectDialect', () => {
  const DELIMITERS: [delimiter: string, name: string][] = [
    [',', 'commas'],
    [';', 'semicolons'],
    ['\t', 'tabs'],
    ['|', 'bars'],
    ['^', 'carets'],
    ['~', 'tildes'],
    ['||', 'two bars'],
    ['::', 'two colons'],
    ['^^', 'two carets'],
    ['~~', 'two tildes'],
  ];
  const TABLE = [
    ['id', 'name', 'price', 'day', 'time', 'site', 'note'],
    ['1', 'Ann Smith', '1,25', '2024-01-05', '08:30', 'https://example.com/a', 'tea; coffee, milk'],
    ['2', "Bob O'Neil", '10,50', '2024-02-06', '09:45', 'https://example.com/b', ''],
    ['3', 'Cid', '7,75', '2024-03-07', '10:15', 'https://example.com/c?x=1', "don't | ever"],
    ['4', 'Dora', '0,25', '2024-04-08', '11:00', 'https://example.com/d', 'he said "hi"'],
  ];
  for (const [delimiter, name] of DELIMITERS) {
    for (const quoteAll of [false, true]) {
      it(`finds ${name} ${quoteAll ? 'between quoted cells' : 'between cells with other delimiters in them'}`, () => {
        const write = (cell: string) =>
          quoteAll || cell.includes('"') || cell.includes(delimiter[0]!)
            ? `"${cell.replaceAll('"', '""')}"`
            : cell;
        const text = TABLE.map((row) => `${row.map(write).join(delimiter)}\n`).join('');
        expect(summarize(text)).toEqual([delimiter, '"', '"', true, 0, 7]);
      });
    }
  }

  const FOUND: [name: string, text: string, expected: unknown[]][] = [
    ['semicolons among decimal commas', 'a;b\n1,5;2,5\n3,5;4,5\n', [';', '"', '"', true, 0, 2]],
    ['semicolons among decimal commas without a header', '1,5;2,5\n3,5;4,5\n', [';', '"', '"', false, 0, 2]],
    ['no delimiter in a column of decimal commas', 'price\n1,5\n2,75\n3,25\n', ['', '"', '"', true, 0, 1]],
    ['no delimiter in e-mail addresses', 'a@b.com\nc@d.com\n', ['', '"', '"', false, 0, 1]],
    ['no delimiter in web addresses', 'https://a.com/1\nhttps://b.com/2\n', ['', '"', '"', false, 0, 1]],
    ['no delimiter in times', '08:30\n09:15\n10:45\n', ['', '"', '"', false, 0, 1]],
    ['no delimiter in paths', 'C:\\a\\b\nC:\\c\\d\nD:\\e\n', ['', '"', '"', false, 0, 1]],
    ['no delimiter in dates', 'day\n01/02/2024\n03/04/2024\n', ['', '"', '"', true, 0, 1]],
    ['no delimiter in names', 'name\nAnn Smith\nBob Jones\n', ['', '"', '"', true, 0, 1]],
    ['no delimiter in sentences', 'text\nHello, you.\nWell, yes, no.\nBye.\n', ['', '"', '"', true, 0, 1]],
    ['no delimiter in places', 'place\nRome, Italy\nOslo, Norway\n', ['', '"', '"', true, 0, 1]],
    ['commas followed by blanks', 'name, age\nAnn, 31\nBob, 42\n', [',', '"', '"', true, 0, 2]],
    ['commas among times', '08:30,09:45\n10:00,11:15\n', [',', '"', '"', false, 0, 2]],
    ['colons', 'root:x:0:/root\nann:x:10:/home/ann\n', [':', '"', '"', false, 0, 4]],
    ['runs of blanks', 'x  y\n1  20\n30  4\n', [' ', '"', '"', true, 0, 2]],
    ['apostrophes as quotes', "'a','b'\n'1','x, y'\n'2','it''s'\n", [',', "'", "'", true, 0, 2]],
    ['apostrophes that are not quotes', "a,b\n1,don't\n2,'tis\n3,x\n", [',', '"', '"', true, 0, 2]],
    ['backslashes before quotes', 'a,b\n1,"x \\"y\\" z"\n2,"u"\n', [',', '"', '\\', true, 0, 2]],
    ['backslashes that end cells', 'a,b\n1,"C:\\x\\"\n2,"D:\\"\n', [',', '"', '"', true, 0, 2]],
    [
      'quotes that are text',
      'a\tb\n1\t"Hi" he said\n2\t"No" she said\n3\t"Oh" I said\n4\tx\n',
      ['\t', '', '', true, 0, 2],
    ],
    ['a line with the delimiter', 'sep=;\na;b\n1;2,0\n', [';', '"', '"', true, 1, 2]],
    ['a quoted line with the delimiter', '"sep=|"\r\na|b\r\n1|2\r\n', ['|', '"', '"', true, 1, 2]],
    ['a line that names a tab as the delimiter', 'sep=\t\na\tb\n1\t2\n', ['\t', '"', '"', true, 1, 2]],
    ['titles and an empty line', 'Report\nMay 2024\n\na,b\n1,2\n3,4\n', [',', '"', '"', true, 3, 2]],
    ['a title', 'Report\nname,n\nAnn,2\nBob,4\n', [',', '"', '"', true, 1, 2]],
    ['titles padded with delimiters', 'Report,,\n,,\na,b,c\n1,2,3\n', [',', '"', '"', true, 2, 3]],
    ['empty lines first', '\r\n\r\na,b\r\n1,2\r\n', [',', '"', '"', true, 2, 2]],
    ['rows that end with a delimiter', 'a,b\n1,2,\n3,4,\n', [',', '"', '"', true, 0, 3]],
    ['a header that ends with a delimiter', 'a,b,\n1,2\n3,4\n', [',', '"', '"', true, 0, 2]],
    ['a header that lacks a name', 'a,b,c\n1,2,3,4\n5,6,7,8\n', [',', '"', '"', true, 0, 4]],
    ['a title with a delimiter', 'By,Bob\nid,n,m\n1,2,3\n4,5,6\n', [',', '"', '"', true, 1, 3]],
    ['a header alone', 'a;b;c\n', [';', '"', '"', true, 0, 3]],
    ['a single word', 'a', ['', '"', '"', true, 0, 1]],
    ['a header over ragged rows', 'a,b,c\n1\n2\n3,4\n', [',', '"', '"', true, 0, 3]],
  ];
  for (const [name, text, expected] of FOUND) {
    it(`finds ${name}`, () => {
      expect(summarize(text)).toEqual(expected);
    });
  }

  const HEADERS: [name: string, text: string, header: boolean][] = [
    ['names over numbers', 'a,b\n1,2\n3,4\n', true],
    ['numbers over numbers', '1,2\n3,4\n5,6\n', false],
    ['names over text, in doubt', 'Ann,Rome\nBob,Oslo\n', true],
    ['text that is repeated', 'Ann,Rome\nBob,Oslo\nAnn,Oslo\n', false],
    ['years over numbers', 'country,2022,2023\nChile,5,6\nPeru,7,8\n', true],
    ['a name over codes of one length', 'code,x\nAB12,u\nCD34,vv\nEF56,w\n', true],
    ['dates over dates', 'x,2024-01-01\ny,2024-01-02\n', false],
    ['repeated names', 'n,n\n1,2\n3,4\n', true],
  ];
  for (const [name, text, header] of HEADERS) {
    it(`takes ${name} for ${header ? 'a header' : 'a row'}`, () => {
      expect(detect(text).header).toBe(header);
    });
  }

  it('chooses the most frequent line end', () => {
    expect(detect('a,b\r\n1,2\r\n3,4\n').lineEnd).toBe('\r\n');
    expect(detect('a,b\r1,2\r').lineEnd).toBe('\r');
    expect(detect('a,b\n1,2\r\n3,4\n').lineEnd).toBe('\n');
    expect(detect('a,b').lineEnd).toBe('\n');
  });

  it('keeps the lines before the table', () => {
    expect(detect('Report\r\nMay\r\n\r\na,b\r\n1,2\r\n3,4\r\n').preamble).toBe('Report\r\nMay');
  });

  describe('with stated options', () => {
    const STATED: [name: string, text: string, options: FormatOptions, expected: unknown[]][] = [
      ['a delimiter', 'a;b,c\n1;2,3\n', { delimiter: ',' }, [',', '"', '"', true, 0, 2]],
      ['one column', 'a,b\n1,2\n', { delimiter: '' }, ['', '"', '"', true, 0, 1]],
      ['no quotes', 'a,b\n"1",2\n', { quote: '' }, [',', '', '', true, 0, 2]],
      ['another quote', "a,b\n'1','2'\n", { quote: "'" }, [',', "'", "'", true, 0, 2]],
      ['an escape', 'a,b\n"1",2\n', { escape: '\\' }, [',', '"', '\\', true, 0, 2]],
      ['no header', 'a,b\n1,2\n', { header: false }, [',', '"', '"', false, 0, 2]],
      ['a header', '1,2\n3,4\n', { header: true }, [',', '"', '"', true, 0, 2]],
      ['lines to skip', 'x,y\na;b\n1;2\n', { skipLines: 1 }, [';', '"', '"', true, 1, 2]],
      ['no lines to skip', 'sep=;\na;b\n1;2\n', { skipLines: 0 }, [';', '"', '"', true, 0, 2]],
      [
        'a delimiter that contradicts the separator line',
        'sep=;\na|b\n1|2\n',
        { delimiter: '|' },
        ['|', '"', '"', true, 1, 2],
      ],
    ];
    for (const [name, text, options, expected] of STATED) {
      it(`takes ${name} as given`, () => {
        expect(summarize(text, options)).toEqual(expected);
      });
    }
  });
});
