// The expected result for every file of the corpus: its dialect and its rows. docs/files-csv.md names these files.
import type { CsvDialect, FormatOptions } from '../../src/ingest/row-reader.ts';
import { EXPECTED_MADE_CSV, QUOTES_ARE_TEXT } from './csv-expected-made.ts';

export interface ExpectedCsv {
  file: string;
  options?: FormatOptions;
  /** Differences from UTF-8 with commas, double quotes, \n and a header on the first line. */
  dialect?: Partial<CsvDialect>;
  preamble?: string;
  /** The names, separated by dots. */
  headers?: string;
  /** Number of headers, for very wide files. */
  columns?: number;
  /** Each row: its line, then its cells and a note, or the reason for its rejection. */
  rows?: string[];
  /** Set if `rows` lists only some rows. */
  rowCount?: number;
  warnings?: string[];
  refused?: { code: string; message: string };
}

export const EXPECTED_CSV: ExpectedCsv[] = [
  {
    file: 'shifted-cells.csv',
    headers: 'id·name·age·city',
    rows: [
      '2 1·Ann·30·Oslo',
      '3 2·Bob·41·Rome',
      '4 (expected 4 cells, got 5, and cell 3 (" Anna") does not look like the other values of its column: a value may contain an unquoted delimiter; put it in quotes)',
      '5 4·Cid·20·Bern [1 empty cell beyond the last column dropped]',
      '6 5·Eve··Bonn [1 empty cell beyond the last column dropped]',
    ],
    warnings: [
      '1 row of the first 5 looked shifted and will be rejected: a value probably contains an unquoted delimiter. Put such values in quotes.',
    ],
  },
  {
    file: 'shifted-decimal-comma.csv',
    headers: 'amount·name·city',
    rows: [
      '2 1.5·Ann·Oslo',
      '3 2.5·Bob·Rome',
      '4 (expected 3 cells, got 4, and cell 2 ("5") does not look like the other values of its column: a value may contain an unquoted delimiter; put it in quotes)',
      '5 4.5·Dora·Bern',
    ],
    warnings: [
      '1 row of the first 4 looked shifted and will be rejected: a value probably contains an unquoted delimiter. Put such values in quotes.',
    ],
  },
  {
    file: 'header-too-long.csv',
    headers: 'id·name·city·note',
    rows: ['2 1·Ann·Oslo·', '3 2·Bob·Rome·', '4 3·Cid·Bern·late'],
    warnings: [
      'The header has 4 names and most rows have 3 cells: the last column, "note", is left empty in them. Check that values are under the right names.',
    ],
  },
  {
    file: 'header-stray-quote.csv',
    headers: 'id·name·age',
    rows: ['2 1·Ann·30', '3 2·Bob·31'],
    warnings: ['A quote in the header is not closed; the names were read without it.'],
  },
  {
    file: 'header-unclosed-quote.csv',
    headers: 'id·name·age',
    rows: ['2 1·Ann·30', '3 2·Bob, jr·31'],
    warnings: ['A quote in the header is not closed; the names were read without it.'],
  },
  {
    file: 'blank-after-delimiter.csv',
    dialect: { trimsBlanks: true },
    headers: 'id·name·city',
    rows: ['2 1·Ann, B·Oslo', '3 2·  Bob·Rome', '4 3··Bern', '5 4·Dora·-', '6 5·Eve·Bonn'],
  },
  {
    file: 'unclosed-quote-width.csv',
    headers: 'id·text·n',
    rows: [
      '2 1·"6 inch pipe·5 [a quote that is not closed was kept as text]',
      '3 2·ok·6',
      '4 (the quote (") opened on line 4 is not closed: expected a closing quote before "," or a line end)',
      '5 4·Smith, J·7',
      '6 5·x·"8 [a quote that is not closed was kept as text]',
      '7 6·y, z·1',
      '8 7·v·2',
    ],
  },
  {
    file: 'apostrophe-quotes.csv',
    dialect: { quote: "'", escape: "'" },
    headers: 'id·name·note',
    rows: ['2 1·Ann·a, b', "3 2·Bob·it's"],
  },
  {
    file: 'apostrophes-in-prose.csv',
    headers: 'id·note',
    rows: ["2 1·don't", "3 2·'tis the season", "4 3·dogs' tails"],
  },
  {
    file: 'backslash-escape.csv',
    dialect: { escape: '\\' },
    headers: 'id·text',
    rows: ['2 1·say "hi", please', '3 2·back\\slash', '4 3·plain'],
  },
  { file: 'backslash-paths.csv', headers: 'id·path', rows: ['2 1·C:\\temp\\', '3 2·D:\\data, old\\'] },
  {
    file: 'blank-runs.txt',
    dialect: { delimiter: ' ' },
    headers: 'name·size·used',
    rows: ['2 sda·100·12', '3 sdb·200·150', '4 sdc·50·5'],
  },
  { file: 'blanks-around-quotes.csv', headers: 'id·text·n', rows: ['2 1·a, b·5', '3 2 ·  plain  ·6'] },
  {
    file: 'caret.txt',
    dialect: { delimiter: '^' },
    headers: 'id·name·price',
    rows: ['2 1·Ann·1,5', '3 2·Bob·2,5'],
  },
  {
    file: 'colon.txt',
    dialect: { delimiter: ':', header: false },
    headers: 'column_1·column_2·column_3·column_4·column_5·column_6·column_7',
    rows: [
      '1 root·x·0·0·root·/root·/bin/bash',
      '2 daemon·x·1·1·daemon·/usr/sbin·/usr/sbin/nologin',
      '3 ann·x·1000·1000·Ann·/home/ann·/bin/zsh',
    ],
  },
  {
    file: 'comment-lines.csv',
    headers: 'id·name',
    rows: ['2 (expected 2 cells, got 1)', '3 1·Ann', '4 2·Bob', '5 3·#hash'],
  },
  { file: 'dates-slashes.csv', headers: 'day·amount', rows: ['2 01/02/2024·5', '3 03/04/2024·6'] },
  {
    file: 'double-colon.dat',
    dialect: { delimiter: '::', header: false },
    headers: 'column_1·column_2·column_3',
    rows: [
      '1 1·Toy Story (1995)·Animation',
      '2 2·Jumanji (1995)·Adventure',
      '3 3·Heat: the film (1995)·Action',
    ],
  },
  {
    file: 'double-pipe.txt',
    dialect: { delimiter: '||' },
    headers: 'id·name·city',
    rows: ['2 1·Ann·Berlin', '3 2··Rome'],
  },
  { file: 'duplicate-headers.csv', headers: 'name·name··name', rows: ['2 a·b·c·d', '3 e·f·g·h'] },
  {
    file: 'emails-no-header.csv',
    dialect: { delimiter: '', header: false },
    headers: 'column_1',
    rows: ['1 ann@example.com', '2 bob@example.com', '3 cid@example.com'],
    warnings: ['No delimiter was found: every line is one cell.'],
  },
  { file: 'emoji.csv', headers: 'id·text', rows: ['2 1·😀 ok', '3 2·日本語'] },
  { file: 'empty-rows-of-delimiters.csv', headers: 'a·b·c', rows: ['2 1·2·3', '3 ··', '4 4·5·6'] },
  {
    file: 'empty.csv',
    refused: { code: 'FILE_INVALID', message: 'expected the file to have rows, got an empty file' },
  },
  { file: 'formulas.csv', headers: 'id·text', rows: ['2 1·=1+1', '3 2·@cmd', '4 3·-2+3'] },
  { file: 'header-only.csv', headers: 'id·name·city', rows: [] },
  {
    file: 'header-lacks-name.csv',
    refused: {
      code: 'FILE_INVALID',
      message:
        'expected most rows to fit the 3 columns, but 3 of the first 3 do not (line 2: expected 3 cells, got 4); the file was read as utf-8, delimiter ",", quote ", header on line 1',
    },
  },
  {
    file: 'leading-blank-lines.csv',
    dialect: { skipLines: 2 },
    headers: 'id·name',
    rows: ['4 1·Ann', '5 2·Bob'],
  },
  {
    file: 'long-rows.csv',
    headers: 'a·b·c',
    rows: [
      '2 1·2·3',
      '3 (expected 3 cells, got 4)',
      '4 8·9·10',
      '5 11·12·13 [2 empty cells beyond the last column dropped]',
      '6 14·15·16',
    ],
  },
  {
    file: 'mostly-ragged.csv',
    refused: {
      code: 'FILE_INVALID',
      message:
        'expected most rows to fit the 3 columns, but 5 of the first 6 do not (line 3: expected 3 cells, got 1); the file was read as utf-8, delimiter ",", quote ", header on line 1',
    },
  },
  { file: 'multi-line-cells.csv', headers: 'id·text', rows: ['2 1·first\nsecond\n\nfourth', '6 2·plain'] },
  {
    file: 'names-one-column.csv',
    dialect: { delimiter: '' },
    headers: 'name',
    rows: ['2 Ann Smith', '3 Bob Jones', '4 Cid Brown'],
    warnings: ['No delimiter was found: every line is one cell.'],
  },
  {
    file: 'no-header.csv',
    dialect: { header: false },
    headers: 'column_1·column_2·column_3',
    rows: ['1 1·Ann·2024-01-05', '2 2·Bob·2024-02-06', '3 3·Cid·2024-03-07'],
  },
  { file: 'no-last-line-end.csv', headers: 'id·name', rows: ['2 1·Ann', '3 2·Bob'] },
  {
    file: 'numeric-look-alikes.csv',
    headers: 'zip·account·exponent·flag·day·number',
    rows: [
      '2 01234·12345678901234567·1e5·TRUE·2024-02-30·0x10',
      '3 00000·98765432109876543·1E-7·false·01.02.03·+5',
    ],
  },
  {
    file: 'one-column-gaps.csv',
    dialect: { delimiter: '' },
    headers: 'word',
    rows: ['2 alpha', '4 beta', '5 ', '6 gamma'],
    warnings: ['No delimiter was found: every line is one cell.'],
  },
  {
    file: 'one-column.csv',
    dialect: { delimiter: '' },
    headers: 'email',
    rows: ['2 ann@example.com', '3 bob@example.com'],
    warnings: ['No delimiter was found: every line is one cell.'],
  },
  {
    file: 'only-blanks.csv',
    refused: { code: 'FILE_INVALID', message: 'expected the file to have rows, got only empty lines' },
  },
  {
    file: 'only-newlines.csv',
    refused: { code: 'FILE_INVALID', message: 'expected the file to have rows, got only empty lines' },
  },
  {
    file: 'pipe.txt',
    dialect: { delimiter: '|' },
    headers: 'id·name·city',
    rows: ['2 1·Ann·Berlin', '3 2·Bob·Rome'],
  },
  {
    file: 'places-one-column.csv',
    dialect: { delimiter: '' },
    headers: 'place',
    rows: ['2 Berlin, Germany', '3 Rome, Italy', '4 Oslo, Norway'],
    warnings: ['No delimiter was found: every line is one cell.'],
  },
  { file: 'plain.csv', headers: 'id·name·city', rows: ['2 1·Ann·Berlin', '3 2·Bob·Rome', '4 3·Cid·Oslo'] },
  {
    file: 'preamble-one-line.csv',
    dialect: { skipLines: 1 },
    preamble: 'Report 2024',
    headers: 'name·age',
    rows: ['3 Ann·31', '4 Bob·42'],
    warnings: [
      'The first line was not read as a row: Report 2024. If it is data, choose another header row (--skip-lines).',
    ],
  },
  {
    file: 'preamble-padded.csv',
    dialect: { skipLines: 2 },
    preamble: 'Sales report,,,\n,,,',
    headers: 'id·product·amount·unit',
    rows: ['4 1·Tea·12·kg', '5 2·Coffee·30·kg'],
    warnings: [
      'The first 2 lines were not read as rows: Sales report,,, / ,,,. If they are data, choose another header row (--skip-lines).',
    ],
  },
  {
    file: 'preamble.csv',
    dialect: { skipLines: 3 },
    preamble: 'Sales report\nCreated: 2024-03-01',
    headers: 'id·product·amount',
    rows: ['5 1·Tea·12', '6 2·Coffee·30', '7 3·Milk·7'],
    warnings: [
      'The first 3 lines were not read as rows: Sales report / Created: 2024-03-01. If they are data, choose another header row (--skip-lines).',
    ],
  },
  {
    file: 'prose.csv',
    dialect: { delimiter: '' },
    headers: 'comment',
    rows: [
      '2 Hello, how are you today?',
      '3 Fine.',
      '4 Good, thanks, and you, my friend?',
      '5 Well, I will see; tomorrow, maybe.',
    ],
    warnings: ['No delimiter was found: every line is one cell.'],
  },
  {
    file: 'prototype-headers.csv',
    headers: '__proto__·constructor·toString·length·id',
    rows: ['2 a·b·c·d·1', '3 e·f·g·h·2'],
  },
  { file: 'quote-mid-cell.csv', headers: 'id·size·n', rows: ['2 1·6" pipe·5', '3 2·a "b" c·6'] },
  { file: 'quoted-headers.csv', headers: 'id·full, name', rows: ['2 1·Ann', '3 2·Bob'] },
  { file: 'quoted.csv', headers: 'id·text', rows: ['2 1·a, b', '3 2·say "hi"', '4 3·', '5 4·'] },
  { file: 'replacement-character.csv', headers: 'id·text', rows: ['2 1·a\ufffdb', '3 2·c'] },
  {
    file: 'semicolon-decimal-commas.csv',
    dialect: { delimiter: ';' },
    headers: 'artikel·preis·menge',
    rows: ['2 Schraube·1,25·3,5', '3 Mutter·0,75·10,25', '4 Scheibe·0,05·7,75'],
  },
  {
    file: 'semicolon-decimals-no-header.csv',
    dialect: { delimiter: ';', header: false },
    headers: 'column_1·column_2·column_3',
    rows: ['1 1,25·3,50·7,75', '2 2,25·4,50·8,75', '3 3,25·5,50·9,75'],
  },
  {
    file: 'semicolon.csv',
    dialect: { delimiter: ';' },
    headers: 'id·name·city',
    rows: ['2 1·Ann·Berlin', '3 2·Bob·Rome'],
  },
  {
    file: 'sep-line.csv',
    dialect: { delimiter: ';', skipLines: 1 },
    preamble: 'sep=;',
    headers: 'id·name',
    rows: ['3 1·Ann, the first', '4 2·Bob'],
    warnings: [
      'The first line was not read as a row: sep=;. If it is data, choose another header row (--skip-lines).',
    ],
  },
  {
    file: 'short-rows.csv',
    headers: 'a·b·c',
    rows: ['2 1·2·3', '3 (expected 3 cells, got 2)', '4 6·7·8', '5 (expected 3 cells, got 1)', '6 10·11·12'],
  },
  {
    file: 'stray-quotes-tsv.tsv',
    dialect: { delimiter: '\t', quote: '', escape: '' },
    headers: 'id·text',
    rows: ['2 1·"Hello" he said', '3 2·"Bye" she said', '4 3·"No" they said', '5 4·plain'],
    warnings: [QUOTES_ARE_TEXT],
  },
  {
    file: 'tab.tsv',
    dialect: { delimiter: '\t' },
    headers: 'id·name·note',
    rows: ['2 1·Ann·likes tea, coffee', '3 2·Bob·says "hi"', '4 3·Cid·'],
  },
  {
    file: 'text-after-quote.csv',
    headers: 'id·text',
    rows: ['2 1·"abc"def [a quote that is not closed was kept as text]', '3 2·ok', '4 3·fine', '5 4·good'],
  },
  { file: 'text-only.csv', headers: 'Ann·Berlin', rows: ['2 Bob·Rome', '3 Cid·Oslo'] },
  {
    file: 'tilde.txt',
    dialect: { delimiter: '~' },
    headers: 'id·name·city',
    rows: ['2 1·Ann·Berlin', '3 2·Bob·Rome'],
  },
  {
    file: 'times-one-column.csv',
    dialect: { delimiter: '', header: false },
    headers: 'column_1',
    rows: ['1 08:30', '2 09:45', '3 11:15'],
    warnings: ['No delimiter was found: every line is one cell.'],
  },
  { file: 'times.csv', headers: 'start·end', rows: ['2 08:30·09:45', '3 10:00·11:15', '4 12:30·13:00'] },
  { file: 'trailing-delimiter-all.csv', headers: 'a·b·', rows: ['2 1·2·', '3 3·4·'] },
  {
    file: 'trailing-delimiter-header.csv',
    headers: 'a·b',
    rows: ['2 1·2', '3 3·4', '4 5·6'],
    warnings: ['The header ends with an empty name that no row has a cell for; it was dropped.'],
  },
  {
    file: 'trailing-delimiter-rows.csv',
    headers: 'a·b',
    rows: [
      '2 1·2 [1 empty cell beyond the last column dropped]',
      '3 3·4 [1 empty cell beyond the last column dropped]',
      '4 5·6 [1 empty cell beyond the last column dropped]',
    ],
  },
  {
    file: 'trailing-notes.csv',
    dialect: { delimiter: ';' },
    headers: 'id·product·amount',
    rows: [
      '2 1·Tea·12',
      '3 2·Coffee·30',
      '4 3·Milk·7',
      '5 4·Rum·1',
      '6 (expected 3 cells, got 2)',
      '7 (expected 3 cells, got 1)',
    ],
  },
  {
    file: 'unclosed-quote-at-end.csv',
    headers: 'id·text',
    rows: ['2 1·ok', '3 2·fine', '4 3·"never closed [a quote that is not closed was kept as text]'],
  },
  {
    file: 'unclosed-quote-middle.csv',
    headers: 'id·text',
    rows: [
      '2 1·ok',
      '3 2·"never closed [a quote that is not closed was kept as text]',
      '4 3·quoted',
      '5 4·plain',
      '6 5·more',
    ],
  },
  {
    file: 'unclosed-quote-plain-after.csv',
    headers: 'id·text',
    rows: [
      '2 1·ok',
      '3 2·"never closed [a quote that is not closed was kept as text]',
      '4 3·plain',
      '5 4·more',
    ],
  },
  {
    file: 'unescaped-inner-quotes.csv',
    headers: 'id·text·n',
    rows: [
      '2 1·say "hi" there·5 [a quote inside a quoted cell was not escaped and was kept as text]',
      '3 2·fine·6',
      '4 3·ok·7',
    ],
  },
  {
    file: 'unescaped-quotes-many-lines.csv',
    headers: 'id·text',
    rows: [
      '2 1·first\nsay "hi" you [a quote inside a quoted cell was not escaped and was kept as text]',
      '4 2·plain',
      '5 3·"a [a quote that is not closed was kept as text]',
      '6 (expected 2 cells, got 1)',
      '7 4·more',
      '8 5·x',
      '9 6·y',
    ],
  },
  {
    file: 'urls-no-header.csv',
    dialect: { delimiter: '', header: false },
    headers: 'column_1',
    rows: ['1 https://example.com/a?x=1,2', '2 https://example.com/b', '3 https://example.com/c;d=2'],
    warnings: ['No delimiter was found: every line is one cell.'],
  },
  { file: 'years-header.csv', headers: 'country·2021·2022·2023', rows: ['2 Norway·5·6·7', '3 Chile·8·9·10'] },
  {
    file: 'short-rows.csv',
    options: { shortRows: 'pad' },
    headers: 'a·b·c',
    rows: [
      '2 1·2·3',
      '3 4·5· [1 missing cell left empty]',
      '4 6·7·8',
      '5 9·· [2 missing cells left empty]',
      '6 10·11·12',
    ],
  },
  {
    file: 'mostly-ragged.csv',
    options: { delimiter: ',' },
    headers: 'a·b·c',
    rows: [
      '2 1·2·3',
      '3 (expected 3 cells, got 1)',
      '4 (expected 3 cells, got 1)',
      '5 (expected 3 cells, got 2)',
      '6 (expected 3 cells, got 1)',
      '7 (expected 3 cells, got 1)',
    ],
  },
  {
    file: 'text-only.csv',
    options: { header: false },
    dialect: { header: false },
    headers: 'column_1·column_2',
    rows: ['1 Ann·Berlin', '2 Bob·Rome', '3 Cid·Oslo'],
  },
  {
    file: 'stray-quotes-tsv.tsv',
    options: { quote: '"' },
    dialect: { delimiter: '\t' },
    headers: 'id·text',
    rows: [
      '2 1·"Hello" he said [a quote that is not closed was kept as text]',
      '3 2·"Bye" she said [a quote that is not closed was kept as text]',
      '4 3·"No" they said [a quote that is not closed was kept as text]',
      '5 4·plain',
    ],
  },
  {
    file: 'preamble.csv',
    options: { skipLines: 0, delimiter: ',' },
    headers: 'Sales report',
    rows: [
      '2 Created: 2024-03-01',
      '4 (expected 1 cell, got 3)',
      '5 (expected 1 cell, got 3)',
      '6 (expected 1 cell, got 3)',
      '7 (expected 1 cell, got 3)',
    ],
  },
  {
    file: 'plain.csv',
    options: { columns: ['a', 'b', 'c'] },
    headers: 'a·b·c',
    rows: ['2 1·Ann·Berlin', '3 2·Bob·Rome', '4 3·Cid·Oslo'],
  },
  {
    file: 'semicolon.csv',
    options: { delimiter: ',' },
    headers: 'id;name;city',
    rows: ['2 1;Ann;Berlin', '3 2;Bob;Rome'],
  },
  {
    file: 'double-pipe.txt',
    options: { delimiter: '|' },
    dialect: { delimiter: '|' },
    headers: 'id··name··city',
    rows: ['2 1··Ann··Berlin', '3 2····Rome'],
  },
  {
    file: 'sep-line.csv',
    options: { skipLines: 0 },
    dialect: { delimiter: ';' },
    headers: 'sep=·',
    rows: ['2 id·name', '3 1·Ann, the first', '4 2·Bob'],
  },
  ...EXPECTED_MADE_CSV,
];
