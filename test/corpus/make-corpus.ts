// Files of the corpus that an editor would change: other encodings, other line ends, damaged bytes, large ones.
import iconv from 'iconv-lite';

const TABLE = 'name;city;n\nJörg;Köln;1\nZoë;Malmö;2\n';
const RUSSIAN = 'имя;город;n\nИван;Москва;1\nПётр;Тверь;2\n';
const JAPANESE = '名前,都市\n山田太郎,東京\nすずき,おおさか\n';

function damaged(...parts: (string | number[])[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

/** Name to content; the names differ from those of the plain files. */
export function makeCorpus(): Map<string, Buffer> {
  const files: Record<string, Buffer | string> = {
    'line-ends-crlf.csv': 'id,name\r\n1,Ann\r\n2,"B\r\nob"\r\n3,Cid\r\n',
    'line-ends-cr.csv': 'id,name\r1,Ann\r2,Bob\r',
    'line-ends-mixed.csv': 'id,name\n1,Ann\r\n2,Bob\r3,Cid\n',
    'utf8-bom.csv': `\ufeff${TABLE}`,
    'utf8-bom-quoted-header.csv': '\ufeff"name","n"\nAnn,1\nBob,2\n',
    'utf16le-bom.csv': Buffer.from(`\ufeff${TABLE}`, 'utf16le'),
    'utf16be-bom.csv': Buffer.from(`\ufeff${TABLE}`, 'utf16le').swap16(),
    'utf16le.csv': Buffer.from(TABLE, 'utf16le'),
    'utf16be.csv': Buffer.from(TABLE, 'utf16le').swap16(),
    'utf16le-tabs-excel.txt': Buffer.from(`\ufeff${TABLE.replaceAll(';', '\t')}`, 'utf16le'),
    'utf16le-half-pair.csv': Buffer.from('\ufeffid,text\n1,a\ud800b\n2,c\n', 'utf16le'),
    'utf32le-bom.csv': iconv.encode(`\ufeff${TABLE}`, 'utf-32le'),
    'windows-1252.csv': iconv.encode(TABLE, 'windows-1252'),
    'windows-1251.csv': iconv.encode(RUSSIAN, 'windows-1251'),
    'koi8-r.csv': iconv.encode(RUSSIAN, 'koi8-r'),
    'shift-jis.csv': iconv.encode(JAPANESE, 'shift_jis'),
    'euc-jp.csv': iconv.encode(JAPANESE, 'euc-jp'),
    'gb18030.csv': iconv.encode('姓名,城市\n张三,北京\n李四,😀\n', 'gb18030'),
    'invalid-utf8.csv': damaged('id,name\n1,Zoë\n2,caf', [0xe9], '\n3,Jörg\n4,\ufffd\n'),
    'truncated-utf8.csv': damaged('id,name\n1,Zoë\n2,Jörg\n3,', [0xe2, 0x82]),
    'overlong-utf8.csv': damaged('id,name\n1,Zoë\n2,Jörg\n3,Åsa\n4,x', [0xc0, 0xaf], 'y\n'),
    'cesu-surrogates.csv': damaged('id,name\n1,éèàüöä\n2,', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80], '\n'),
    'nul-cells.csv': 'id,na\0me\n1,a\0b\n2,c\n',
    'nul-padding.csv': `id,name\n${Array.from({ length: 20 }, (_, i) => `${i},${'Ann'.padEnd(8, '\0')}\n`).join('')}`,
    'binary.csv': Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * i * 31 + i * 7) % 251)),
    'huge-cell.csv': `id,text\n1,${'x'.repeat(1024 * 1024)}\n2,"${'y\n'.repeat(512 * 1024)}"\n3,end\n`,
    'cell-over-limit.csv': `id,text\n1,${'x'.repeat(2 * 1024 * 1024 + 1)}\n2,ok\n3,ok\n`,
    'row-over-limit.csv': `id,text\n1,${'x'.repeat(5 * 1024 * 1024)}\n2,ok\n3,ok\n`,
    'long-line-only.csv': 'x'.repeat(5 * 1024 * 1024),
    'many-columns.csv': `${Array.from({ length: 2000 }, (_, i) => `c${i}`).join(',')}\n${'1,'.repeat(1999)}2\n`,
    'too-many-columns.csv': `${Array.from({ length: 10_000 }, (_, i) => `c${i}`).join(',')}\n${'1,'.repeat(9999)}2\n`,
    'long-header-name.csv': `id,${'x'.repeat(1025)}\n1,a\n2,b\n`,
    'unclosed-quote-large.csv': `id,text\n1,"never closed\n${'2,row\n'.repeat(200_000)}`,
    'quote-on-every-line.csv': `id,text\n${'1,row\n'.repeat(600)}${'2,"open\n'.repeat(400)}`,
  };
  return new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content as string)]));
}
