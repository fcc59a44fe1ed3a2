import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { depth } from '../../../../test/support/depth.ts';
import { Tokenizer, type TokenizedRow, type TokenizerDialect } from './tokenize.ts';

const COMMA: TokenizerDialect = { delimiter: ',', quote: '"', escape: '"' };
const LIMIT = 1_000_000;
const limitsOf = (maxRowBytes = LIMIT) => ({ maxRowBytes, maxColumns: 100 });

function tokenize(
  text: string,
  dialect: Partial<TokenizerDialect> = {},
  options: { size?: number | (() => number); limit?: number; gather?: number } = {},
): TokenizedRow[] {
  const tokenizer = new Tokenizer({ ...COMMA, ...dialect }, limitsOf(options.limit), {
    line: 1,
    gather: options.gather ?? 1,
  });
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

const cellsOf = (rows: TokenizedRow[]) => rows.map((row) => row.cells);

describe('the work of a tokenizer', () => {
  afterEach(() => vi.restoreAllMocks());

  /** Characters that all searches scan. */
  function countWork(run: () => void): number {
    let work = 0;
    const indexOf = String.prototype.indexOf;
    vi.spyOn(String.prototype, 'indexOf').mockImplementation(function (this: string, needle, from = 0) {
      const found = indexOf.call(this, needle, from);
      work += 1 + (found === -1 ? this.length : found) - from;
      return found;
    });
    run();
    vi.restoreAllMocks();
    return work;
  }

  const HOSTILE: [name: string, line: string][] = [
    ['an unclosed quote on every line', '"a,b,c\n'],
    ['a doubled quote at the start of every line', '""a,b,c\n'],
    ['an unclosed quote in the last cell of every line', 'a,b,"c\n'],
    ['a doubled quote in the last cell of every line', 'a,b,""c\r\n'],
    ['an unescaped quote on every line', '"a"b,c\n'],
    ['four quotes at the start of every line', '""""a,b\n'],
    ['a quote inside every line', 'a"b,c\n'],
    ['blanks and a quote on every line', '    "   a  b\n'],
    ['one column', 'abcdef\n'],
    ['carriage returns', 'a,b,"c"\r'],
  ];
  for (const [name, line] of HOSTILE) {
    it(`is linear for ${name}`, () => {
      const text = line.repeat(20_000);
      for (const limit of [2000, 50_000, 16_000_000]) {
        const work = countWork(() => tokenize(text, {}, { size: 4096, limit }));
        expect(work / text.length).toBeLessThan(20);
      }
    });
  }

  it('is linear for one unclosed quote before many rows with doubled quotes', () => {
    const text = `"a\n${'b,"c ""d"" e"\n'.repeat(5000)}${'"" x\n'.repeat(5000)}`;
    const work = countWork(() => tokenize(text, {}, { size: 1000, limit: 40_000 }));
    expect(work / text.length).toBeLessThan(20);
  });

  it('is linear for a row that arrives in small pieces', () => {
    const text = `"${'x\n'.repeat(200_000)}",b\n`;
    let rows: TokenizedRow[] = [];
    const work = countWork(() => {
      rows = tokenize(text, {}, { size: 64 });
    });
    expect(rows).toHaveLength(1);
    expect(work / text.length).toBeLessThan(20);
  });

  it('is measured precisely enough to detect work that is not linear', () => {
    const text = 'a\n'.repeat(2000);
    const work = countWork(() => {
      for (let at = 0; at < text.length; at += 1) text.indexOf('"', at);
    });
    expect(work / text.length).toBeGreaterThan(1000);
  });
});

describe('properties of a tokenizer', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1, maxLength: 8 });
  const cycle = (numbers: number[]) => {
    let next = 0;
    return () => numbers[next++ % numbers.length]!;
  };

  it('reads well-formed files as csv-parse does', () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', 'b', ' ', ',', '"', '\n', '\r', 'ä', '😀', '1', ';'),
      maxLength: 6,
    });
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { maxLength: 8 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.boolean(),
        sizes,
        (table, lineEnd, quoteAll, chunkSizes) => {
          const text = table
            .map((row) => row.map((each) => writeCell(each, COMMA, quoteAll)).join(',') + lineEnd)
            .join('');
          const theirs = parse(text, {
            record_delimiter: [lineEnd],
            relax_column_count: true,
            skip_empty_lines: true,
          });
          expect(cellsOf(tokenize(text, {}, { size: cycle(chunkSizes) }))).toEqual(theirs);
        },
      ),
      { numRuns: depth(150, 1000) },
    );
  });

  const dialects: fc.Arbitrary<TokenizerDialect> = fc
    .record({
      delimiter: fc.constantFrom(',', ';', '\t', '|', '^', '~', ':', '||', '::', '\t|', ' ', ''),
      quote: fc.constantFrom('"', "'"),
      backslash: fc.boolean(),
    })
    .map(({ delimiter, quote, backslash }) => ({ delimiter, quote, escape: backslash ? '\\' : quote }));

  it('reads rows back as they were written, in any dialect and any chunks', () => {
    const cell = fc.string({
      unit: fc.constantFrom(
        'a',
        ' ',
        '\t',
        ',',
        ';',
        '|',
        ':',
        '"',
        "'",
        '\\',
        '\n',
        '\r',
        '^',
        '~',
        '\0',
        '日',
      ),
      maxLength: 8,
    });
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
        dialects,
        fc.constantFrom('\n', '\r\n', '\r'),
        sizes,
        fc.boolean(),
        (rows, dialect, lineEnd, chunkSizes, quoteAll) => {
          const table = dialect.delimiter === '' ? rows.map((row) => row.slice(0, 1)) : rows;
          const text = table
            .map((row) => {
              const all = quoteAll || row.length === 1;
              return row.map((each) => writeCell(each, dialect, all)).join(dialect.delimiter) + lineEnd;
            })
            .join('');
          const read = tokenize(text, dialect, { size: cycle(chunkSizes) });
          expect(read.filter((row) => row.repair !== null || row.rejected !== null)).toEqual([]);
          expect(cellsOf(read)).toEqual(table);
          const lines = text.split(/\r\n|\r|\n/);
          for (const row of read) expect(row.raw.startsWith(lines[row.line - 1]!)).toBe(true);
        },
      ),
      { numRuns: depth(150, 1000) },
    );
  });

  it('reads any text in the same way in any chunks and at any limit, and loses no text', () => {
    const noise = fc.string({
      unit: fc.constantFrom('a', ' ', ',', ',', '"', '"', '\n', '\n', '\r', '\\', '|', '😀'),
      maxLength: 60,
    });
    fc.assert(
      fc.property(
        noise,
        dialects,
        sizes,
        fc.constantFrom(8, 15, 30, LIMIT),
        (text, dialect, chunkSizes, limit) => {
          const whole = tokenize(text, dialect, { limit });
          expect(tokenize(text, dialect, { limit, size: cycle(chunkSizes) })).toEqual(whole);
          expect(tokenize(text, dialect, { limit, size: 1 })).toEqual(whole);
          expect(tokenize(text, dialect, { limit, size: 2, gather: 20 })).toEqual(whole);
          const squeeze = (each: string) => each.replace(/\s/g, '');
          if (limit === LIMIT) {
            expect(squeeze(whole.map((row) => row.raw).join(''))).toBe(squeeze(text));
          }
        },
      ),
      { numRuns: depth(300, 2000) },
    );
  });
});

function writeCell(cell: string, dialect: TokenizerDialect, always: boolean): string {
  const { delimiter, quote } = dialect;
  const special = [
    quote,
    '\n',
    '\r',
    ...(delimiter === ' ' ? [' ', '\t'] : delimiter === '' ? [] : [delimiter]),
  ];
  // A delimiter of two characters may also arise where cells meet.
  const needed =
    always ||
    cell === '' ||
    special.some((each) => cell.includes(each)) ||
    delimiter.includes(cell.at(-1)!) ||
    delimiter.includes(cell[0]!);
  if (!needed) return cell;
  const inner =
    dialect.escape === '\\'
      ? cell.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)
      : cell.replaceAll(quote, quote + quote);
  return quote + inner + quote;
}
