import { describe, expect, it } from 'vitest';
import { Tokenizer, type TokenizedRow, type TokenizerDialect } from './tokenize.ts';

const COMMA: TokenizerDialect = { delimiter: ',', quote: '"', escape: '"' };
const LIMIT = 1_000_000;
const limitsOf = (maxRowBytes = LIMIT) => ({ maxRowBytes, maxColumns: 100 });

function tokenize(
  text: string,
  dialect: Partial<TokenizerDialect> = {},
  options: { size?: number | (() => number); limit?: number } = {},
): TokenizedRow[] {
  const tokenizer = new Tokenizer({ ...COMMA, ...dialect }, limitsOf(options.limit));
  const { size = text.length || 1 } = options;
  const rows: TokenizedRow[] = [];
  for (let at = 0; at < text.length; ) {
    const length = typeof size === 'number' ? size : size();
    rows.push(...[...tokenizer.push(text.slice(at, at + length))].flat());
    at += length;
  }
  rows.push(...[...tokenizer.end()].flat());
  return rows;
}

const STRAY = '[a quote inside a quoted cell was not escaped and was kept as text]';

/** The line, then the cells and a note, or a reason. */
function summarize(rows: TokenizedRow[]): string[] {
  return rows.map((row) => {
    if (row.rejected !== null) return `${row.line} (${row.rejected})`;
    return `${row.line} ${row.cells.join('·')}${row.repair === null ? '' : ` [${row.repair}]`}`;
  });
}

function unclosed(line: number, opened = line, before = '"," or '): string {
  return `${line} (the quote (") opened on line ${opened} is not closed: expected a closing quote before ${before}a line end)`;
}

type Case = [name: string, text: string, expected: string[], dialect?: Partial<TokenizerDialect>];

const CASES: Case[] = [
  ['nothing', '', []],
  ['only line ends', '\n\r\n\r\r\n', []],
  ['a plain row without a line end', 'a,b', ['1 a·b']],
  ['rows and their lines', 'a,b\nc,d\n', ['1 a·b', '2 c·d']],
  ['mixed line ends', 'a\nb\r\nc\rd\r\r\ne', ['1 a', '2 b', '3 c', '4 d', '6 e']],
  ['empty lines, skipped and counted', '\n\na,b\n\n\nc,d\n\n', ['3 a·b', '6 c·d']],
  ['lines of blanks, skipped', 'a,b\n  \t \nc,d', ['1 a·b', '3 c·d']],
  ['empty cells', ',\n,,\n', ['1 ·', '2 ··']],
  ['a trailing delimiter', 'a,b,\n', ['1 a·b·']],
  ['blanks in unquoted cells, kept', ' a , b\t,c \n', ['1  a · b\t·c ']],
  ['NUL and half a surrogate pair', 'a\u0000b,\ud800\n', ['1 a\u0000b·\ud800']],
  ['quoted cells', '"a","b,c"\n"d",e\n', ['1 a·b,c', '2 d·e']],
  ['quoted empty against empty', '"",\n', ['1 ·']],
  ['a quoted empty cell alone', 'a\n""\n\nb', ['1 a', '2 ', '4 b']],
  ['doubled quotes', '"say ""hi""","""",""""""\n', ['1 say "hi"·"·""']],
  ['line ends in cells', '"a\nb\r\nc\rd",e\nf,g\n', ['1 a\nb\r\nc\rd·e', '5 f·g']],
  ['blanks around quoted cells', ' "a" ,\t"b"\t\n', ['1 a·b']],
  ['a quote inside an unquoted cell', '6" pipe,2\n5 "x",3\n', ['1 6" pipe·2', '2 5 "x"·3']],
  ['a quote that ends an unquoted cell', 'a 6",2\n', ['1 a 6"·2']],
  ['unescaped quotes inside', '"say "hi" there",2\n', [`1 say "hi" there·2 ${STRAY}`]],
  ['unescaped next to escaped quotes', '"a ""b"" "c" d",2\n', [`1 a "b" "c" d·2 ${STRAY}`]],
  [
    'unescaped quotes on the second line of a cell',
    '"a\nsay "hi" you",2\nb,3\n',
    [`1 a\nsay "hi" you·2 ${STRAY}`, '3 b·3'],
  ],
  ['text after a closing quote', 'x,y\n"abc"def,1\nb,2\n', ['1 x·y', unclosed(2), '3 b·2']],
  ['a quote never closed', 'a,1\n"b,2\nc,3\nd,4', ['1 a·1', unclosed(2), '3 c·3', '4 d·4']],
  ['a quote never closed before quoted rows', '"b,2\n"c",3\n"d",4\n', [unclosed(1), '2 c·3', '3 d·4']],
  ['a quote never closed before a quoted last cell', '"b,2\nc,"3"\n', [unclosed(1), '2 c·3']],
  ['a quote never closed on every line', '"a,1\n"b,2\n"c,3', [unclosed(1), unclosed(2), unclosed(3)]],
  ['doubled opening quotes on every line', '""a,1\n""b,2\nc,3', [unclosed(1), unclosed(2), '3 c·3']],
  [
    'a quote never closed in a later cell of a row of many lines',
    '"a\nb","c\nd,e\n',
    [unclosed(1, 2), '3 d·e'],
  ],
  ['a lone quote at the end', 'a,b\n"', ['1 a·b', unclosed(2)]],
  ['an escaped quote at the start of a line of a cell', '"a\n""b"" c",2\n', ['1 a\n"b" c·2']],
  ['two characters', 'a||b|c||"d||e"\n', ['1 a·b|c·d||e'], { delimiter: '||' }],
  ['colons', 'a::b:c::\n', ['1 a·b:c·'], { delimiter: '::' }],
  ['a tab and a bar', 'a\t|"b"\t|\tc\n', ['1 a·b·\tc'], { delimiter: '\t|' }],
  ['tabs', 'a\t b\t\t"c\td" \n', ['1 a· b··c\td'], { delimiter: '\t' }],
  ['runs of blanks', '  a  b \t c \n"d e"  f\n\n   \ng', ['1 a·b·c', '2 d e·f', '5 g'], { delimiter: ' ' }],
  [
    'runs of blanks, a quote never closed',
    '"a b\nc d\n',
    [unclosed(1, 1, 'a blank or '), '2 c·d'],
    { delimiter: ' ' },
  ],
  ['no quotes', '"a,b"\n\'c\',""\n', ['1 "a·b"', '2 \'c\'·""'], { quote: '', escape: '' }],
  ['apostrophes as quotes', "'it''s',\"b\"\n", ['1 it\'s·"b"'], { quote: "'", escape: "'" }],
  ['backslashes', '"a \\"b\\" \\\\","c\\n",\\"d\n', ['1 a "b" \\·c\\n·\\"d'], { escape: '\\' }],
  ['a backslash before the closing quote, itself escaped', '"C:\\\\",2\n', ['1 C:\\·2'], { escape: '\\' }],
  ['a backslash before the closing quote of a doubling file', '"C:\\",2\n', ['1 C:\\·2']],
];

describe('a tokenizer', () => {
  for (const [name, text, expected, dialect] of CASES) {
    it(`reads ${name} in the same way at chunk sizes 1 to 17`, () => {
      expect(summarize(tokenize(text, dialect))).toEqual(expected);
      const whole = tokenize(text, dialect);
      for (let size = 1; size <= 17; size += 1) expect(tokenize(text, dialect, { size })).toEqual(whole);
    });
  }

  it('keeps the text of the file as raw text', () => {
    const rows = tokenize('a, "b" \r\n"c\nd",e\n"f,1\n');
    expect(rows.map((row) => row.raw)).toEqual(['a, "b" ', '"c\nd",e', '"f,1']);
  });

  it('marks only the rows that contain replaced bytes', () => {
    const tokenizer = new Tokenizer(COMMA, limitsOf());
    const rows = [
      ...tokenizer.push('a,'),
      ...tokenizer.push('\ufffd', true),
      ...tokenizer.push('b\n\ufffd,c\n"'),
      ...tokenizer.push('\ufffd\ufffd', true),
      ...tokenizer.push('\nd",e\n"f'),
      ...tokenizer.push('\ufffd', true),
      ...tokenizer.push('\ng,h'),
      ...tokenizer.end(),
    ].flat();
    expect(rows.map((row) => [row.line, row.damaged, row.rejected !== null])).toEqual([
      [1, true, false],
      [2, false, false],
      [3, true, false],
      [5, true, true],
      [6, false, false],
    ]);
  });
});

describe('limits of a tokenizer', () => {
  const tooLong = '(expected the row to be at most 20 bytes (ingestMaxRowBytes), got more)';
  const LIMITED: Case[] = [
    ['a line', `a,b\n${'x'.repeat(30)},y\nc,d\n`, ['1 a·b', `2 ${tooLong}`, '3 c·d']],
    ['a last line', `a,b\n${'x'.repeat(30)}`, ['1 a·b', `2 ${tooLong}`]],
    ['a line by its bytes', `${'ä'.repeat(11)}\nc,d\n`, [`1 ${tooLong}`, '2 c·d']],
    ['a line of just enough bytes', `${'ä'.repeat(10)}\nc,d\n`, [`1 ${'ä'.repeat(10)}`, '2 c·d']],
    ['a line after a cell of two lines', `"a\nb",${'x'.repeat(30)}\nc,d\n`, [`1 ${tooLong}`, '3 c·d']],
    ['many short cells', `${'x,'.repeat(30)}\r\nc,d\n`, [`1 ${tooLong}`, '2 c·d']],
    ['a quoted cell after the limit', `${'x,'.repeat(12)}"a\nb"\nc,d\n`, [`1 ${tooLong}`, '2 b"', '3 c·d']],
    [
      'an unclosed quote',
      `"a,b\n${'x\n'.repeat(20)}c,"d"`,
      [unclosed(1), ...Array.from({ length: 20 }, (_, i) => `${i + 2} x`), '22 c·d'],
    ],
    ['an unclosed quote on a long line', `"${'x'.repeat(40)}\nc,d\n`, [unclosed(1), '2 c·d']],
    ['blanks without end', `a,${' '.repeat(40)}"b"\nc,d\n`, [`1 ${tooLong}`, '2 c·d']],
    ['blanks without end after a quote', `a,"b"${' '.repeat(40)}\nc,d\n`, [unclosed(1), '2 c·d']],
  ];

  for (const [name, text, expected] of LIMITED) {
    it(`reject ${name} and continue in the same way at chunk sizes 1 to 17`, () => {
      const whole = tokenize(text, {}, { limit: 20 });
      expect(summarize(whole)).toEqual(expected);
      for (let size = 1; size <= 17; size += 1) {
        expect(tokenize(text, {}, { limit: 20, size })).toEqual(whole);
      }
    });
  }

  it('reject a row with too many cells, quoted or not', () => {
    const rows = tokenize(`${'x,'.repeat(100)}\n${'"x",'.repeat(100)}\n${'x,'.repeat(99)}\n`);
    expect(rows.map((row) => row.rejected)).toEqual([
      'expected the row to have at most 100 cells (ingestMaxColumns), got more',
      'expected the row to have at most 100 cells (ingestMaxColumns), got more',
      null,
    ]);
    expect(rows[2]!.cells).toHaveLength(100);
  });

  it('cut the raw text of a rejected row', () => {
    const [row] = tokenize('x'.repeat(60_000), {}, { limit: 50_000 });
    expect(row!.raw).toBe('x'.repeat(10_000));
  });

  it('do not keep an endless line in memory', () => {
    const tokenizer = new Tokenizer(COMMA, limitsOf(1000));
    let rows = 0;
    for (let i = 0; i < 5000; i += 1) rows += [...tokenizer.push('x'.repeat(1000))].length;
    expect(rows).toBe(1);
    expect([...tokenizer.push('\na,b\n')].flat().map((row) => row.line)).toEqual([2]);
  });
});
