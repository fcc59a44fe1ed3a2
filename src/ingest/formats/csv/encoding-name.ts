// The names of encodings: aliases that users may write, and the one name of each encoding in Rowmill.
import iconv from 'iconv-lite';
import { editDistance } from '../../../core/errors/edit-distance.ts';
import { RowmillError } from '../../../core/errors/rowmill-error.ts';

// Aliases and their encodings. Files that claim to be Latin-1 or ASCII are read as windows-1252: the encodings differ
// only in control characters, which do not occur in files of rows.
const ALIASES: Record<string, string> = {
  utf8: 'utf-8',
  utf8sig: 'utf-8',
  utf8bom: 'utf-8',
  unicode: 'utf-16le',
  utf16: 'utf-16le',
  utf16le: 'utf-16le',
  ucs2: 'utf-16le',
  ucs2le: 'utf-16le',
  utf16be: 'utf-16be',
  ucs2be: 'utf-16be',
  utf32: 'utf-32le',
  utf32le: 'utf-32le',
  utf32be: 'utf-32be',
  ascii: 'windows-1252',
  usascii: 'windows-1252',
  ansi: 'windows-1252',
  latin1: 'windows-1252',
  iso88591: 'windows-1252',
  l1: 'windows-1252',
  sjis: 'shift_jis',
  shiftjis: 'shift_jis',
  cp932: 'shift_jis',
  ms932: 'shift_jis',
  windows31j: 'shift_jis',
  mskanji: 'shift_jis',
  eucjp: 'euc-jp',
  euckr: 'euc-kr',
  cp949: 'euc-kr',
  uhc: 'euc-kr',
  ksc56011987: 'euc-kr',
  gb2312: 'gb18030',
  gbk: 'gb18030',
  cp936: 'gb18030',
  gb18030: 'gb18030',
  big5: 'big5',
  big5hkscs: 'big5',
  cp950: 'big5',
  koi8r: 'koi8-r',
  koi8u: 'koi8-u',
  cp874: 'windows-874',
  tis620: 'windows-874',
  macroman: 'macroman',
  macintosh: 'macroman',
};
// iconv-lite also knows these, but they are not text encodings.
const NOT_TEXT = new Set(['base64', 'hex', 'binary', 'utf7', 'utf7imap']);
const SUGGESTIONS = [
  ...new Set(Object.values(ALIASES)),
  ...Array.from({ length: 9 }, (_, i) => `windows-125${i}`),
  ...Array.from({ length: 15 }, (_, i) => `iso-8859-${i + 1}`),
  'cp437',
  'cp850',
  'cp852',
  'cp866',
  'latin1',
];

/** Returns the one name of an encoding; throws FILE_OPTION_INVALID if it is unknown. */
export function resolveEncoding(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  const alias = Object.hasOwn(ALIASES, plain) ? ALIASES[plain] : undefined;
  if (alias !== undefined) return alias;
  const windows = /^(?:cp|win|windows|xcp)(125[0-8]|874)$/.exec(plain);
  if (windows) return `windows-${windows[1]}`;
  const iso = /^iso8859(\d{1,2})$/.exec(plain);
  if (iso && iconv.encodingExists(`iso-8859-${iso[1]}`)) return `iso-8859-${iso[1]}`;
  if (plain !== '' && !NOT_TEXT.has(plain) && iconv.encodingExists(plain)) return plain;
  throw new RowmillError(
    'FILE_OPTION_INVALID',
    `expected the option encoding to be a known encoding, got ${JSON.stringify(name.slice(0, 100))}${suggest(plain)}`,
  );
}

function suggest(plain: string): string {
  let best = { name: '', distance: 4 };
  for (const name of SUGGESTIONS) {
    const distance = editDistance(plain.slice(0, 30), name.replace(/[^a-z0-9]/g, ''));
    if (distance < best.distance) best = { name, distance };
  }
  return best.name === '' ? '; for example utf-8, utf-16le or windows-1252' : `; did you mean ${best.name}?`;
}
