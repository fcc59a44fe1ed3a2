// Identifies binary formats by the first bytes of a file. Text has no such bytes and gives null.

export type ImageType = 'png' | 'jpeg' | 'gif' | 'webp' | 'avif' | 'heic' | 'tiff' | 'bmp';

export type BinaryKind =
  | ImageType
  | 'gzip'
  | 'zip'
  | 'ole2'
  | 'pdf'
  | 'parquet'
  | 'sqlite'
  | 'arrow'
  | 'avro'
  | 'bzip2'
  | 'xz'
  | 'zstd'
  | '7z'
  | 'rar';

/** Bytes that the longest check needs. */
export const MAGIC_LENGTH = 64;

const SIGNATURES: readonly [BinaryKind, string][] = [
  ['gzip', '\x1f\x8b\x08'],
  ['zip', 'PK\x03\x04'],
  ['zip', 'PK\x05\x06'],
  ['zip', 'PK\x07\x08'],
  ['png', '\x89PNG\r\n\x1a\n'],
  ['jpeg', '\xff\xd8\xff'],
  ['gif', 'GIF87a'],
  ['gif', 'GIF89a'],
  ['tiff', 'II*\0'],
  ['tiff', 'MM\0*'],
  ['ole2', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
  ['pdf', '%PDF-'],
  ['parquet', 'PAR1'],
  ['sqlite', 'SQLite format 3\0'],
  ['arrow', 'ARROW1\0'],
  ['avro', 'Obj\x01'],
  ['bzip2', 'BZh'],
  ['xz', '\xfd7zXZ\0'],
  ['zstd', '\x28\xb5\x2f\xfd'],
  ['7z', '7z\xbc\xaf\x27\x1c'],
  ['rar', 'Rar!\x1a\x07'],
];

const AVIF_BRANDS = ['avif', 'avis'];
const HEIC_BRANDS = ['heic', 'heix', 'hevc', 'hevx', 'heim', 'heis', 'mif1', 'msf1'];
/** Possible lengths of the second header of a bitmap. */
const BITMAP_HEADERS = [12, 40, 52, 56, 64, 108, 124];

export function identifyBytes(head: Buffer): BinaryKind | null {
  const start = head.toString('latin1', 0, MAGIC_LENGTH);
  for (const [kind, signature] of SIGNATURES) {
    if (!start.startsWith(signature)) continue;
    // "PAR1" and "BZh" are words that a table may begin with.
    if (kind === 'parquet' && start.charCodeAt(4) >= 0x20) continue;
    if (kind === 'bzip2' && !start.startsWith('1AY&SY', 4)) continue;
    return kind;
  }
  if (start.startsWith('RIFF') && start.startsWith('WEBP', 8)) return 'webp';
  if (start.startsWith('ftyp', 4)) {
    const brand = start.slice(8, 12);
    if (AVIF_BRANDS.includes(brand)) return 'avif';
    if (HEIC_BRANDS.includes(brand)) return start.slice(16, 40).includes('avif') ? 'avif' : 'heic';
  }
  if (start.startsWith('BM') && head.length >= 26 && head.readUInt32LE(6) === 0) {
    if (BITMAP_HEADERS.includes(head.readUInt32LE(14))) return 'bmp';
  }
  return null;
}

const IMAGE_TYPES: readonly string[] = ['png', 'jpeg', 'gif', 'webp', 'avif', 'heic', 'tiff', 'bmp'];

export function isImageType(kind: string | null): kind is ImageType {
  return kind !== null && IMAGE_TYPES.includes(kind);
}

/** An SVG is text, and may contain scripts. */
export function looksLikeSvg(head: Buffer): boolean {
  const text = head.toString('latin1').replace(/^(\xef\xbb\xbf)?\s*/, '');
  return /^<(svg[\s>/]|(\?xml|!--|!DOCTYPE svg)[\s\S]*?<svg[\s>/])/i.test(text);
}
