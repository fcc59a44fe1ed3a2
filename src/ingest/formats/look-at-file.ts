// Detects the kind of a file by its content, never by its name. Does not unpack: a gzip is reported as a gzip.
import { open } from 'node:fs/promises';
import type { FormatOptions, ReadLimits } from '../row-reader.ts';
import { unreadableFile } from '../unreadable-file.ts';
import { type BinaryKind, identifyBytes, isImageType } from './magic-bytes.ts';
import { sniffText, type TextLook } from './sniff-text.ts';
import { sniffZip, type ZipLook } from './sniff-zip.ts';
import { glanceAtText } from './text-sample.ts';

export type FileLook =
  | { text: string; look: TextLook }
  | { text: null; look: ZipLook | { kind: 'gzip' } | { kind: 'image'; found: string; advice: string } };

const SAVE_AS = 'Save it as .xlsx or CSV.';
const UNPACK = 'Unpack it, then use the file itself, or compress it as gzip or zip.';
const EXPORT = 'Export it as CSV or JSON lines.';

const OTHERS: Record<Exclude<BinaryKind, 'gzip' | 'zip' | 'ole2'>, [found: string, advice: string] | null> = {
  png: null,
  jpeg: null,
  gif: null,
  webp: null,
  avif: null,
  heic: null,
  tiff: null,
  bmp: null,
  pdf: ['a PDF', 'Put the rows into a spreadsheet and save it as .xlsx or CSV.'],
  parquet: ['a Parquet file', EXPORT],
  sqlite: ['an SQLite database', EXPORT],
  arrow: ['an Arrow file', EXPORT],
  avro: ['an Avro file', EXPORT],
  bzip2: ['a bzip2 archive', UNPACK],
  xz: ['an xz archive', UNPACK],
  zstd: ['a zstd archive', UNPACK],
  '7z': ['a 7z archive', UNPACK],
  rar: ['a RAR archive', UNPACK],
};

export async function lookAtFile(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
): Promise<FileLook> {
  const head = await readHead(path);
  const kind = identifyBytes(head);
  if (kind === null) {
    const { text, whole } = await glanceAtText(path, options);
    return { text, look: sniffText(text, whole) };
  }
  if (kind === 'gzip') return { text: null, look: { kind: 'gzip' } };
  if (kind === 'zip') return { text: null, look: await sniffZip(path, limits) };
  if (kind === 'ole2') {
    return { text: null, look: { kind: 'unsupported', ...(await describeOldOffice(path, head)) } };
  }
  if (isImageType(kind)) {
    const advice = 'Use a zip or a folder of images, or a list of URLs.';
    return { text: null, look: { kind: 'image', found: `a single ${kind} image`, advice } };
  }
  const [found, advice] = OTHERS[kind]!;
  return { text: null, look: { kind: 'unsupported', found, advice } };
}

export async function readHead(path: string): Promise<Buffer> {
  try {
    return await readAt(path, 0, 512);
  } catch (cause) {
    throw unreadableFile(path, cause);
  }
}

async function readAt(path: string, position: number, bytes: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await file.read(buffer, 0, bytes, position);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The names in the directory of an OLE2 file show which program wrote it. */
async function describeOldOffice(path: string, head: Buffer): Promise<{ found: string; advice: string }> {
  const old = { found: 'a file in an old Office format', advice: SAVE_AS };
  if (head.length < 512) return old;
  const sectorBytes = 2 ** Math.min(head.readUInt16LE(30), 12);
  const directory = await readAt(path, (head.readUInt32LE(48) + 1) * sectorBytes, 8 * sectorBytes);
  const names = directory.toString('utf16le').toLowerCase();
  if (names.includes('encryptedpackage')) {
    return {
      found: 'a password-protected workbook',
      advice: 'Remove the password in the spreadsheet program and save it as .xlsx or CSV.',
    };
  }
  if (names.includes('book\0')) return { found: 'a workbook in the old .xls format', advice: SAVE_AS };
  return old;
}
