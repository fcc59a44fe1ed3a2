// The part of csv-expected.ts for the files that make-corpus.ts makes.
import type { ExpectedCsv } from './csv-expected.ts';

export const QUOTES_ARE_TEXT =
  'Quotes open cells but do not close them, so quotes are read as text. State the quote if that is wrong.';

export const EXPECTED_MADE_CSV: ExpectedCsv[] = [
  {
    file: 'line-ends-crlf.csv',
    dialect: { lineEnd: '\r\n' },
    headers: 'id·name',
    rows: ['2 1·Ann', '3 2·B\r\nob', '5 3·Cid'],
  },
  { file: 'line-ends-cr.csv', dialect: { lineEnd: '\r' }, headers: 'id·name', rows: ['2 1·Ann', '3 2·Bob'] },
  { file: 'line-ends-mixed.csv', headers: 'id·name', rows: ['2 1·Ann', '3 2·Bob', '4 3·Cid'] },
  {
    file: 'utf8-bom.csv',
    dialect: { bom: true, delimiter: ';' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
  },
  {
    file: 'utf8-bom-quoted-header.csv',
    dialect: { bom: true },
    headers: 'name·n',
    rows: ['2 Ann·1', '3 Bob·2'],
  },
  {
    file: 'utf16le-bom.csv',
    dialect: { encoding: 'utf-16le', bom: true, delimiter: ';' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
  },
  {
    file: 'utf16be-bom.csv',
    dialect: { encoding: 'utf-16be', bom: true, delimiter: ';' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
  },
  {
    file: 'utf16le.csv',
    dialect: { encoding: 'utf-16le', delimiter: ';' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
  },
  {
    file: 'utf16be.csv',
    dialect: { encoding: 'utf-16be', delimiter: ';' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
  },
  {
    file: 'utf16le-tabs-excel.txt',
    dialect: { encoding: 'utf-16le', bom: true, delimiter: '\t' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
  },
  {
    file: 'utf16le-half-pair.csv',
    dialect: { encoding: 'utf-16le', bom: true },
    headers: 'id·text',
    rows: ['2 1·a\ud800b', '3 2·c'],
  },
  {
    file: 'utf32le-bom.csv',
    dialect: { encoding: 'utf-32le', bom: true, delimiter: ';' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
  },
  {
    file: 'windows-1252.csv',
    dialect: { encoding: 'windows-1252', delimiter: ';' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
    warnings: [
      'The file is not UTF-8. Its encoding was guessed to be windows-1252; state the encoding if letters look wrong.',
    ],
  },
  {
    file: 'windows-1251.csv',
    dialect: { encoding: 'windows-1251', delimiter: ';' },
    headers: 'имя·город·n',
    rows: ['2 Иван·Москва·1', '3 Пётр·Тверь·2'],
    warnings: [
      'The file is not UTF-8. Its encoding was guessed to be windows-1251; state the encoding if letters look wrong.',
    ],
  },
  {
    file: 'koi8-r.csv',
    dialect: { encoding: 'koi8-r', delimiter: ';' },
    headers: 'имя·город·n',
    rows: ['2 Иван·Москва·1', '3 Пётр·Тверь·2'],
    warnings: [
      'The file is not UTF-8. Its encoding was guessed to be koi8-r; state the encoding if letters look wrong.',
    ],
  },
  {
    file: 'shift-jis.csv',
    dialect: { encoding: 'shift_jis' },
    headers: '名前·都市',
    rows: ['2 山田太郎·東京', '3 すずき·おおさか'],
    warnings: [
      'The file is not UTF-8. Its encoding was guessed to be shift_jis; state the encoding if letters look wrong.',
    ],
  },
  {
    file: 'euc-jp.csv',
    dialect: { encoding: 'euc-jp' },
    headers: '名前·都市',
    rows: ['2 山田太郎·東京', '3 すずき·おおさか'],
    warnings: [
      'The file is not UTF-8. Its encoding was guessed to be euc-jp; state the encoding if letters look wrong.',
    ],
  },
  {
    file: 'gb18030.csv',
    dialect: { encoding: 'gb18030' },
    headers: '姓名·城市',
    rows: ['2 张三·北京', '3 李四·😀'],
    warnings: [
      'The file is not UTF-8. Its encoding was guessed to be gb18030; state the encoding if letters look wrong.',
    ],
  },
  {
    file: 'invalid-utf8.csv',
    headers: 'id·name',
    rows: [
      '2 1·Zoë',
      '3 2·caf\ufffd [bytes that are not utf-8 replaced by U+FFFD]',
      '4 3·Jörg',
      '5 4·\ufffd',
    ],
    warnings: ['The file contains bytes that are not utf-8; they were replaced by U+FFFD.'],
  },
  {
    file: 'truncated-utf8.csv',
    headers: 'id·name',
    rows: ['2 1·Zoë', '3 2·Jörg', '4 3·\ufffd [bytes that are not utf-8 replaced by U+FFFD]'],
    warnings: ['The file contains bytes that are not utf-8; they were replaced by U+FFFD.'],
  },
  {
    file: 'overlong-utf8.csv',
    headers: 'id·name',
    rows: [
      '2 1·Zoë',
      '3 2·Jörg',
      '4 3·Åsa',
      '5 4·x\ufffd\ufffdy [bytes that are not utf-8 replaced by U+FFFD]',
    ],
    warnings: ['The file contains bytes that are not utf-8; they were replaced by U+FFFD.'],
  },
  {
    file: 'cesu-surrogates.csv',
    headers: 'id·name',
    rows: [
      '2 1·éèàüöä',
      '3 2·\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd [bytes that are not utf-8 replaced by U+FFFD]',
    ],
    warnings: ['The file contains bytes that are not utf-8; they were replaced by U+FFFD.'],
  },
  { file: 'nul-cells.csv', headers: 'id·na\u0000me', rows: ['2 1·a\u0000b', '3 2·c'] },
  {
    file: 'nul-padding.csv',
    headers: 'id·name',
    rowCount: 20,
    rows: [`2 0·${'Ann'.padEnd(8, '\0')}`],
    warnings: [
      'The file contains NUL characters, 100 of them in its first part; they cannot be stored and become U+FFFD.',
    ],
  },
  {
    file: 'binary.csv',
    refused: {
      code: 'FILE_INVALID',
      message: 'expected the file to be text, got 11% control characters: it looks like binary data',
    },
  },
  { file: 'huge-cell.csv', headers: 'id·text', rowCount: 3, rows: ['524292 3·end'] },
  {
    file: 'cell-over-limit.csv',
    headers: 'id·text',
    rows: [
      '2 (expected cell 2 to be at most 2097152 bytes (ingestMaxCellBytes), got 2097153)',
      '3 2·ok',
      '4 3·ok',
    ],
  },
  {
    file: 'row-over-limit.csv',
    headers: 'id·text',
    rows: [
      '2 (expected the row to be at most 4194304 bytes (ingestMaxRowBytes), got more)',
      '3 2·ok',
      '4 3·ok',
    ],
  },
  {
    file: 'long-line-only.csv',
    refused: {
      code: 'FILE_INVALID',
      message:
        'line 1, the header: expected the row to be at most 4194304 bytes (ingestMaxRowBytes), got more',
    },
  },
  { file: 'many-columns.csv', columns: 2000, rowCount: 1, rows: [] },
  {
    file: 'too-many-columns.csv',
    refused: {
      code: 'FILE_TOO_LARGE',
      message: 'expected the file to have at most 2000 columns (ingestMaxColumns), got more',
    },
  },
  {
    file: 'long-header-name.csv',
    refused: {
      code: 'FILE_INVALID',
      message: 'line 1: expected the name of column 2 to be at most 1024 bytes, got 1025',
    },
  },
  {
    file: 'unclosed-quote-large.csv',
    headers: 'id·text',
    rowCount: 200001,
    rows: ['2 1·"never closed [a quote that is not closed was kept as text]', '200002 2·row'],
  },
  {
    file: 'quote-on-every-line.csv',
    dialect: { quote: '', escape: '' },
    headers: 'id·text',
    rowCount: 1000,
    rows: ['2 1·row', '1001 2·"open'],
    warnings: [QUOTES_ARE_TEXT],
  },
  {
    file: 'windows-1252.csv',
    options: { encoding: 'utf-8' },
    dialect: { delimiter: ';' },
    headers: 'name·city·n',
    rows: [
      '2 J\ufffdrg·K\ufffdln·1 [bytes that are not utf-8 replaced by U+FFFD]',
      '3 Zo\ufffd·Malm\ufffd·2 [bytes that are not utf-8 replaced by U+FFFD]',
    ],
    warnings: ['The file contains bytes that are not utf-8; they were replaced by U+FFFD.'],
  },
  {
    file: 'windows-1252.csv',
    options: { encoding: 'latin1' },
    dialect: { encoding: 'windows-1252', delimiter: ';' },
    headers: 'name·city·n',
    rows: ['2 Jörg·Köln·1', '3 Zoë·Malmö·2'],
  },
  {
    file: 'quote-on-every-line.csv',
    options: { quote: '"' },
    headers: 'id·text',
    rowCount: 1000,
    rows: [
      '2 1·row',
      '602 2·"open [a quote that is not closed was kept as text]',
      '603 2·"open [a quote that is not closed was kept as text]',
      '1001 2·"open [a quote that is not closed was kept as text]',
    ],
  },
];
