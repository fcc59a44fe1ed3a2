// Checks a workbook before it is parsed: every entry is inflated once, within the limits and against its declared size
// and checksum. XML that declares a document type is refused, because it can define entities.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ReadLimits } from '../row-reader.ts';
import { withZip } from './zip-archive.ts';

/** A document type can only appear before the first element, and no real file has more bytes than this before it. */
const PROLOG_BYTES = 64 * 1024;

export async function inspectArchive(path: string, limits: ReadLimits): Promise<void> {
  await withZip(path, limits, async (archive) => {
    const seen = new Set<string>();
    for (const entry of archive.entries) {
      const key = entry.name.toLowerCase();
      if (seen.has(key)) {
        throw new RowmillError(
          'FILE_INVALID',
          `expected every entry of the workbook once, got ${entry.name} twice`,
        );
      }
      seen.add(key);
      const prolog: Buffer[] = [];
      let kept = 0;
      for await (const chunk of archive.inflate(entry)) {
        if (kept >= PROLOG_BYTES) continue;
        prolog.push(chunk);
        kept += chunk.length;
      }
      refuseDocumentType(entry.name, Buffer.concat(prolog));
    }
  });
}

function refuseDocumentType(name: string, start: Buffer): void {
  const text = decodeProlog(start);
  if (!/\.(xml|rels|vml)$/i.test(name) && !/^\s*</.test(text)) return;
  const root = text.search(/<[^!?/\s]/);
  const prolog = root < 0 ? text : text.slice(0, root);
  if (/<!(doctype|entity)/i.test(withoutComments(prolog))) {
    throw new RowmillError(
      'FILE_INVALID',
      `expected ${name} to have no document type declaration, got one: workbooks do not need it and it can be used for attacks`,
      { hint: 'Open the file in a spreadsheet program and save it again.' },
    );
  }
  if (root < 0 && start.length >= PROLOG_BYTES) {
    throw new RowmillError(
      'FILE_INVALID',
      `expected an element in the first ${PROLOG_BYTES} bytes of ${name}, got none`,
    );
  }
}

/** A declaration inside a comment does not count. An unclosed comment is kept. */
function withoutComments(text: string): string {
  const kept: string[] = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf('<!--', at);
    const close = open === -1 ? -1 : text.indexOf('-->', open + 4);
    if (close === -1) break;
    kept.push(text.slice(at, open));
    at = close + 3;
  }
  kept.push(text.slice(at));
  return kept.join('');
}

function decodeProlog(start: Buffer): string {
  if (start[0] === 0xff && start[1] === 0xfe) return start.toString('utf16le', 2);
  if (start[0] === 0x3c && start[1] === 0) return start.toString('utf16le');
  if ((start[0] === 0xfe && start[1] === 0xff) || (start[0] === 0 && start[1] === 0x3c)) {
    return Buffer.from(start.subarray(0, start.length & ~1))
      .swap16()
      .toString('utf16le')
      .replace(/^\ufeff/, '');
  }
  return start.toString('utf8').replace(/^\ufeff/, '');
}
