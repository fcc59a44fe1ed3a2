// Detects the content of a zip: a workbook, a set of images, a single file, or something unsupported.
import { basename } from 'node:path';
import type { ReadLimits } from '../row-reader.ts';
import { identifyBytes, isImageType, looksLikeSvg } from './magic-bytes.ts';
import { withZip, type ZipArchive, type ZipEntry } from './zip-archive.ts';

export type ZipLook =
  | { kind: 'xlsx' | 'imageZip' }
  | { kind: 'zipOfOne'; name: string }
  | { kind: 'unsupported'; found: string; advice: string };

/** Entries whose first bytes are checked to recognize a set of images. */
const LOOKED_AT = 100;
const HEAD_BYTES = 1024;
const MAX_CONTENT_TYPES_BYTES = 1024 * 1024;

export function sniffZip(path: string, limits: ReadLimits): Promise<ZipLook> {
  return withZip(path, limits, async (archive) => {
    const office = await sniffOffice(archive);
    if (office !== null) return office;
    const files = archive.entries.filter((entry) => !isLitter(entry.name));
    if (files.length === 0) {
      return { kind: 'unsupported', found: 'a zip without files', advice: 'Put the file of rows into it.' };
    }
    if (await holdsImages(archive, files)) return { kind: 'imageZip' };
    if (files.length === 1) return { kind: 'zipOfOne', name: files[0]!.name };
    const names = files
      .slice(0, 3)
      .map((file) => basename(file.name))
      .join(', ');
    return {
      kind: 'unsupported',
      found: `a zip of ${files.length} files (${names}${files.length > 3 ? ', …' : ''})`,
      advice: 'Submit each file of rows separately; only images can share a zip.',
    };
  });
}

/** Files that operating systems add to archives. */
export function isLitter(name: string): boolean {
  const parts = name.split('/');
  const last = parts.at(-1)!;
  return parts.includes('__MACOSX') || last.startsWith('.') || /^(thumbs\.db|desktop\.ini)$/i.test(last);
}

async function sniffOffice(archive: ZipArchive): Promise<ZipLook | null> {
  const names = new Map(archive.entries.map((entry) => [entry.name.toLowerCase(), entry]));
  if (names.has('xl/workbook.xml')) return { kind: 'xlsx' };
  if (names.has('xl/workbook.bin')) {
    return { kind: 'unsupported', found: 'a binary workbook (.xlsb)', advice: 'Save it as .xlsx or CSV.' };
  }
  const mimetype = names.get('mimetype');
  if (mimetype !== undefined) {
    const type = (await archive.peek(mimetype, 200)).toString('latin1');
    if (type.startsWith('application/vnd.oasis.opendocument'))
      return { kind: 'unsupported', found: 'an OpenDocument file', advice: 'Save it as .xlsx or CSV.' };
  }
  const contentTypes = names.get('[content_types].xml');
  if (contentTypes === undefined) return null;
  const types = (await archive.peek(contentTypes, MAX_CONTENT_TYPES_BYTES)).toString('latin1');
  // The workbook may be outside of xl/; its content type identifies it.
  if (
    /spreadsheetml\.(sheet|template)\.main\+xml|ms-excel\.(sheet|template)\.macroEnabled\.main\+xml/.test(
      types,
    )
  )
    return { kind: 'xlsx' };
  const document = /wordprocessingml|presentationml/.exec(types)?.[0];
  return {
    kind: 'unsupported',
    found:
      document === undefined
        ? 'an Office file that is not a workbook'
        : `a ${document === 'wordprocessingml' ? 'Word document' : 'presentation'}`,
    advice: 'Put the rows into a spreadsheet and save it as .xlsx or CSV.',
  };
}

async function holdsImages(archive: ZipArchive, files: ZipEntry[]): Promise<boolean> {
  // The checked entries are spread over the archive, because a folder of other files may come first.
  const step = Math.max(1, Math.floor(files.length / LOOKED_AT));
  let looked = 0;
  let images = 0;
  for (let i = 0; i < files.length && looked < LOOKED_AT; i += step) {
    looked += 1;
    const head = await archive.peek(files[i]!, HEAD_BYTES);
    if (isImageType(identifyBytes(head)) || looksLikeSvg(head)) images += 1;
  }
  return images * 2 > looked;
}
