// A zip whose entries can be listed and read as streams. The central directory is authoritative; an entry whose local
// header, size or checksum differs from it is refused. Entry names are data and never used as paths.
import { pipeline, type Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { type Entry, getFileNameLowLevel, openPromise, type ZipFile } from 'yauzl';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ReadLimits } from '../row-reader.ts';
import { createInflateBudget, type InflateBudget } from './inflate-budget.ts';

export interface ZipArchive {
  /** Without folders. */
  entries: ZipEntry[];
  /** The whole entry, verified, within the limits of the archive and of the entry. */
  inflate(entry: ZipEntry): AsyncGenerator<Buffer>;
  /** The first bytes, not verified. */
  peek(entry: ZipEntry, bytes: number): Promise<Buffer>;
  close(): void;
}

export interface ZipEntry {
  name: string;
  entry: Entry;
}

type ZipLimits = Pick<ReadLimits, 'inflateMaxBytes' | 'inflateMaxRatio' | 'archiveMaxEntries'>;

const STORED = 0;
const DEFLATED = 8;
const HAS_DATA_DESCRIPTOR = 0x08;
const ZIP64_MARK = 0xffffffff;

export async function openZip(path: string, limits: ZipLimits): Promise<ZipArchive> {
  const zip = await openArchive(path);
  try {
    const entries = await listEntries(zip, limits);
    const budget = createInflateBudget('the archive', zip.fileSize, limits);
    return {
      entries,
      inflate: (entry) => inflateEntry(zip, entry, budget, limits),
      peek: (entry, bytes) => peekEntry(zip, entry, bytes),
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}

export async function withZip<T>(
  path: string,
  limits: ZipLimits,
  work: (archive: ZipArchive) => Promise<T>,
): Promise<T> {
  const archive = await openZip(path, limits);
  try {
    return await work(archive);
  } finally {
    archive.close();
  }
}

async function openArchive(path: string): Promise<ZipFile> {
  try {
    // yauzl does not check undecoded names. A name like ../x is harmless here and not a reason to refuse the file.
    return await openPromise(path, { autoClose: false, decodeStrings: false, validateEntrySizes: false });
  } catch (cause) {
    throw asZipError(cause);
  }
}

async function listEntries(zip: ZipFile, limits: ZipLimits): Promise<ZipEntry[]> {
  const refuse = (count: number) =>
    new RowmillError(
      'FILE_TOO_LARGE',
      `expected a zip of at most ${limits.archiveMaxEntries} entries (archiveMaxEntries), got ${count}`,
    );
  if (zip.entryCount > limits.archiveMaxEntries) throw refuse(zip.entryCount);
  const entries: ZipEntry[] = [];
  try {
    for await (const entry of zip.eachEntry()) {
      const name = nameOf(entry);
      if (!name.endsWith('/')) entries.push({ name, entry });
    }
  } catch (cause) {
    throw asZipError(cause);
  }
  return entries;
}

function nameOf(entry: Entry): string {
  return getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
}

async function* inflateEntry(
  zip: ZipFile,
  { name, entry }: ZipEntry,
  archiveBudget: InflateBudget,
  limits: ZipLimits,
): AsyncGenerator<Buffer> {
  const budget = createInflateBudget(`${name} in the zip`, entry.compressedSize, limits);
  await checkLocalHeader(zip, name, entry);
  const { stream, consumed } = await openEntry(zip, name, entry);
  let bytes = 0;
  let checksum = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      budget.add(chunk);
      archiveBudget.add(chunk);
      if (bytes > entry.uncompressedSize)
        throw lies(name, 'size', entry.uncompressedSize, `${bytes} or more`);
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
  } catch (cause) {
    throw asZipError(cause, name);
  } finally {
    stream.destroy();
  }
  if (bytes !== entry.uncompressedSize) throw lies(name, 'size', entry.uncompressedSize, bytes);
  if (consumed() !== entry.compressedSize)
    throw lies(name, 'compressed size', entry.compressedSize, consumed());
  if (checksum !== entry.crc32) throw lies(name, 'checksum', entry.crc32, checksum);
}

async function peekEntry(zip: ZipFile, { name, entry }: ZipEntry, wanted: number): Promise<Buffer> {
  const { stream } = await openEntry(zip, name, entry);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= wanted) break;
    }
  } catch (cause) {
    throw asZipError(cause, name);
  } finally {
    stream.destroy();
  }
  return Buffer.concat(chunks).subarray(0, wanted);
}

async function openEntry(
  zip: ZipFile,
  name: string,
  entry: Entry,
): Promise<{ stream: Readable; consumed: () => number }> {
  if (entry.isEncrypted()) {
    throw new RowmillError('FILE_UNSUPPORTED', `expected a zip without a password, got ${name} encrypted`, {
      hint: 'Pack it again without a password.',
    });
  }
  const { compressionMethod } = entry;
  if (compressionMethod !== STORED && compressionMethod !== DEFLATED) {
    throw new RowmillError(
      'FILE_UNSUPPORTED',
      `expected ${name} in the zip to be stored or deflated, got compression method ${compressionMethod}`,
      { hint: 'Pack it again as an ordinary zip.' },
    );
  }
  try {
    const raw = await zip.openReadStreamPromise(entry, { decodeFileData: false });
    if (compressionMethod === STORED) return { stream: raw, consumed: () => entry.uncompressedSize };
    const inflate = createInflateRaw({ chunkSize: 64 * 1024 });
    // An error of either stream reaches the reader of `inflate`.
    pipeline(raw, inflate, () => {});
    return { stream: inflate, consumed: () => inflate.bytesWritten };
  } catch (cause) {
    throw asZipError(cause, name);
  }
}

async function checkLocalHeader(zip: ZipFile, name: string, entry: Entry): Promise<void> {
  let local: Awaited<ReturnType<typeof zip.readLocalFileHeaderPromise>>;
  try {
    local = await zip.readLocalFileHeaderPromise(entry);
  } catch (cause) {
    throw asZipError(cause, name);
  }
  if (!('fileName' in local)) return;
  if (!local.fileName.equals(entry.fileNameRaw))
    throw lies(name, 'name', entry.fileNameRaw.toString(), local.fileName.toString());
  if (local.compressionMethod !== entry.compressionMethod)
    throw lies(name, 'compression method', entry.compressionMethod, local.compressionMethod);
  if ((local.generalPurposeBitFlag & HAS_DATA_DESCRIPTOR) !== 0) return;
  const sizes = [
    ['compressed size', entry.compressedSize, local.compressedSize],
    ['size', entry.uncompressedSize, local.uncompressedSize],
  ] as const;
  for (const [what, central, own] of sizes)
    if (own !== ZIP64_MARK && own !== central) throw lies(name, what, central, own);
}

function lies(name: string, what: string, declared: unknown, found: unknown): RowmillError {
  return new RowmillError(
    'FILE_INVALID',
    `expected the ${what} of ${name} in the zip to be ${String(declared)} as declared in its directory, got ${String(found)}`,
    { hint: 'The zip is damaged or forged. Create it again.' },
  );
}

function asZipError(cause: unknown, name?: string): RowmillError {
  if (cause instanceof RowmillError) return cause;
  const error = cause as NodeJS.ErrnoException;
  const where = name === undefined ? 'the zip' : `${name} in the zip`;
  if (error.code === 'Z_BUF_ERROR' || /signature not found|unexpected EOF/i.test(error.message)) {
    return new RowmillError('FILE_INCOMPLETE', `${where} ends before it is complete: ${error.message}`, {
      cause,
    });
  }
  if (/strong encryption/.test(error.message)) {
    return new RowmillError('FILE_UNSUPPORTED', 'expected a zip without a password, got an encrypted one', {
      hint: 'Pack it again without a password.',
      cause,
    });
  }
  return new RowmillError('FILE_INVALID', `${where} is damaged: ${error.message}`, { cause });
}
