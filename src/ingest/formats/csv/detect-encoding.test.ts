import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import iconv from 'iconv-lite';
import { afterAll, describe, expect, it } from 'vitest';
import { detectEncoding } from './detect-encoding.ts';

const folder = mkdtempSync(join(tmpdir(), 'rowmill-encoding-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function detect(bytes: Buffer | string, stated?: string) {
  const path = join(folder, 'file');
  writeFileSync(path, bytes);
  return await detectEncoding(path, stated);
}

const TABLE = 'name;city;n\nJörg;Köln;1\nZoë;Malmö;2\n';
const RUSSIAN = 'Имя;Город;n\nИван;Москва;1\nПётр;Санкт-Петербург;2\n';
const CHINESE = '姓名,城市\n张三,北京\n李四,上海\n一二三,四五六\n';

describe('detectEncoding', () => {
  const FOUND: [name: string, bytes: Buffer | string, encoding: string, bom: boolean][] = [
    ['an empty file', '', 'utf-8', false],
    ['ASCII', 'a,b\n1,2\n', 'utf-8', false],
    ['UTF-8', TABLE, 'utf-8', false],
    ['UTF-8 with a byte order mark', `\ufeff${TABLE}`, 'utf-8', true],
    ['UTF-16LE with a byte order mark', Buffer.from(`\ufeff${TABLE}`, 'utf16le'), 'utf-16le', true],
    ['UTF-16BE with a byte order mark', Buffer.from(`\ufeff${TABLE}`, 'utf16le').swap16(), 'utf-16be', true],
    ['UTF-32LE with a byte order mark', iconv.encode(`\ufeff${TABLE}`, 'utf-32le'), 'utf-32le', true],
    ['UTF-16LE without a mark', Buffer.from(TABLE, 'utf16le'), 'utf-16le', false],
    ['UTF-16BE without a mark', Buffer.from(TABLE, 'utf16le').swap16(), 'utf-16be', false],
    ['Russian UTF-16LE without a mark', Buffer.from(RUSSIAN, 'utf16le'), 'utf-16le', false],
    ['Chinese UTF-16LE without a mark', Buffer.from(CHINESE, 'utf16le'), 'utf-16le', false],
    ['Chinese UTF-16BE without a mark', Buffer.from(CHINESE, 'utf16le').swap16(), 'utf-16be', false],
    ['ASCII with stray zero bytes', 'nam\0e,city\nx\0,y\n\0\0,z\n', 'utf-8', false],
    ['text padded with zero bytes', 'abc\0\0\0\0\0,x\ndefg\0\0\0\0,y\n', 'utf-8', false],
    ['German windows-1252', iconv.encode(TABLE, 'windows-1252'), 'windows-1252', false],
    ['French windows-1252', iconv.encode('Prénom\nHélène\n', 'windows-1252'), 'windows-1252', false],
    ['a single accented letter', iconv.encode('a,b\n1,café\n', 'windows-1252'), 'windows-1252', false],
    ['Windows quotes and euro signs', iconv.encode('a,b\n“x”,€5\n', 'windows-1252'), 'windows-1252', false],
    ['Russian windows-1251', iconv.encode(RUSSIAN, 'windows-1251'), 'windows-1251', false],
    ['Russian KOI8-R', iconv.encode(RUSSIAN, 'koi8-r'), 'koi8-r', false],
    [
      'Polish windows-1250',
      iconv.encode('Imię;Miasto\nŁukasz;Łódź\n', 'windows-1250'),
      'windows-1250',
      false,
    ],
    [
      'Greek windows-1253',
      iconv.encode('Όνομα;Πόλη\nΓιώργος;Αθήνα\n', 'windows-1253'),
      'windows-1253',
      false,
    ],
    ['Hebrew windows-1255', iconv.encode('שם,עיר\nדוד,ירושלים\n', 'windows-1255'), 'windows-1255', false],
    ['Thai', iconv.encode('ชื่อ,เมือง\nสมชาย,กรุงเทพ\n', 'windows-874'), 'windows-874', false],
    [
      'Japanese Shift_JIS',
      iconv.encode('名前,都市\n山田太郎,東京\nすずき,おおさか\n', 'shift_jis'),
      'shift_jis',
      false,
    ],
    [
      'Japanese EUC-JP',
      iconv.encode('名前,都市\n山田太郎,東京\nすずき,おおさか\n', 'euc-jp'),
      'euc-jp',
      false,
    ],
    ['Chinese GB18030', iconv.encode(CHINESE, 'gb18030'), 'gb18030', false],
    ['Chinese Big5', iconv.encode('姓名,城市\n張三,台北市\n李四,高雄\n', 'big5'), 'big5', false],
    ['Korean EUC-KR', iconv.encode('이름,도시\n김철수,서울\n박영희,부산\n', 'euc-kr'), 'euc-kr', false],
    ['UTF-8 with a bad byte', Buffer.concat([Buffer.from(TABLE), Buffer.from([0xe9, 0x0a])]), 'utf-8', false],
    ['UTF-8 cut in its last letter', Buffer.from(TABLE.repeat(2)).subarray(0, 17), 'utf-8', false],
  ];
  for (const [name, bytes, encoding, bom] of FOUND) {
    it(`finds ${encoding} in ${name}`, async () => {
      expect(await detect(bytes)).toEqual({ encoding, bom });
    });
  }

  it('reads the whole file: a letter after three megabytes decides', async () => {
    const ascii = Buffer.alloc(3 * 1024 * 1024 + 5, 'abc,def\n');
    const inUtf8 = Buffer.concat([ascii, Buffer.from('Köln\n')]);
    const inLatin = Buffer.concat([ascii, Buffer.from('Köln\n', 'latin1')]);
    expect(await detect(inUtf8)).toEqual({ encoding: 'utf-8', bom: false });
    expect(await detect(inLatin)).toEqual({ encoding: 'windows-1252', bom: false });
  });

  it('does not mistake a letter that spans two reads for damage', async () => {
    for (const shift of [1, 2, 3]) {
      const bytes = Buffer.concat([Buffer.alloc(1024 * 1024 - shift, 'x'), Buffer.from('😀\n')]);
      expect(await detect(bytes)).toEqual({ encoding: 'utf-8', bom: false });
    }
  });

  it('uses the stated encoding, with the byte order of the mark', async () => {
    expect(await detect(TABLE, 'Latin1')).toEqual({ encoding: 'windows-1252', bom: false });
    const marked = Buffer.from(`\ufeff${TABLE}`, 'utf16le').swap16();
    expect(await detect(marked, 'UTF-16')).toEqual({ encoding: 'utf-16be', bom: true });
    expect(await detect(`\ufeff${TABLE}`, 'utf8')).toEqual({ encoding: 'utf-8', bom: true });
  });

  it('refuses an unknown encoding, with a suggestion', async () => {
    await expect(detect(TABLE, 'utf-9')).rejects.toMatchObject({
      code: 'FILE_OPTION_INVALID',
      message: 'expected the option encoding to be a known encoding, got "utf-9"; did you mean utf-8?',
    });
    for (const name of ['', 'base64', 'hex', '__proto__', 'constructor', 'klingon']) {
      await expect(detect(TABLE, name)).rejects.toMatchObject({ code: 'FILE_OPTION_INVALID' });
    }
  });
});
