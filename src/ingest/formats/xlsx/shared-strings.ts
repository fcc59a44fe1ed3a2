// Reads the table of strings that cells refer to by number. It has to be in memory as a whole, so it is measured while
// it is read.
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import type { ZipArchive, ZipEntry } from '../zip-archive.ts';
import { readXml } from './xml-reader.ts';

/** Share of the thread's memory; the rest is for rows and the garbage collector. */
const SHARE_OF_MEMORY = 0.6;
/** Overhead of a string besides its characters. */
const STRING_BYTES = 48;
/** A string with such a character takes two bytes per character. */
const WIDE = /[^\0-\xff]/;

export async function readSharedStrings(
  archive: ZipArchive,
  entry: ZipEntry | null,
  memoryMb: number,
): Promise<string[]> {
  const strings: string[] = [];
  if (entry === null) return strings;
  const maxBytes = memoryMb * 1024 * 1024 * SHARE_OF_MEMORY;
  let bytes = 0;
  let text = '';
  let inText = false;
  let phonetic = false;
  const reading = readXml(archive.inflate(entry), entry.name, {
    open(name) {
      if (name === 'si') text = '';
      else if (name === 't') inText = !phonetic;
      else if (name === 'rPh') phonetic = true;
    },
    text(piece) {
      if (inText) text += piece;
    },
    close(name) {
      if (name === 't') inText = false;
      else if (name === 'rPh') phonetic = false;
      else if (name === 'si') {
        strings.push(decodeEscapes(text));
        bytes += STRING_BYTES + text.length * (WIDE.test(text) ? 2 : 1);
        if (bytes > maxBytes) throw tooMuchMemory(memoryMb);
      }
    },
  });
  for await (const _ of reading) if (text.length * 2 > maxBytes) throw tooMuchMemory(memoryMb);
  return strings;
}

/** A workbook writes characters that XML cannot contain as `_x000D_`. */
export function decodeEscapes(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

export function tooMuchMemory(memoryMb: number): RowmillError {
  return new RowmillError(
    'FILE_TOO_LARGE',
    `expected the workbook to be readable within ${memoryMb} MiB of memory (xlsxMemoryMb), got one that needs more`,
    { hint: 'Raise xlsxMemoryMb, split the workbook, or save it as CSV.' },
  );
}
