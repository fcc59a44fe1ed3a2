// A backup is one compressed tar file:
//
//   rowmill-backup.json   what it is: format, versions, time
//   pgdata/… postgres.password postgres.settings.json blobs/…
//   manifest.json         number and size of the files, and the SHA-256 of every byte of the archive before it
//
// The manifest is last, so an archive that was cut off has none. The file gets its name only when it is complete.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { link, open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../random.ts';
import { paddingOf, readTarHeader, TAR_END, type TarEntry, tarHeader } from './tar-format.ts';

export const FORMAT = 1;
const ABOUT = 'rowmill-backup.json';
const MANIFEST = 'manifest.json';
const MAX_JSON_BYTES = 1_048_576;

export interface BackupAbout {
  format: number;
  rowmill: string;
  postgresMajor: string;
  createdAt: string;
  /** False if the files were in S3 and are not in this archive. */
  hasBlobs: boolean;
}

export interface BackupManifest {
  files: number;
  bytes: number;
  sha256: string;
}

/** A file or folder to store: `from` on the disk, `path` in the archive. */
export interface StoredPath {
  from: string;
  path: string;
}

/** Writes the archive under another name, syncs it, and links it to `file`, which must not exist. */
export async function writeArchive(
  file: string,
  about: BackupAbout,
  paths: readonly StoredPath[],
): Promise<BackupManifest> {
  const draft = `${file}.partial-${newId().slice(0, 8)}`;
  const manifest: BackupManifest = { files: 0, bytes: 0, sha256: '' };
  try {
    await pipeline(
      archiveBytes(about, paths, manifest),
      createGzip({ level: 1 }),
      createWriteStream(draft, { flags: 'wx', mode: 0o600 }),
    );
    await syncPath(draft);
    await link(draft, file).catch((cause: NodeJS.ErrnoException) => {
      throw cause.code === 'EEXIST' ? alreadyThere(file) : cause;
    });
  } finally {
    await rm(draft, { force: true });
  }
  await syncPath(dirname(file));
  return manifest;
}

export function alreadyThere(file: string): RowmillError {
  return new RowmillError('BACKUP_REFUSED', `expected ${file} not to exist yet`, {
    hint: 'Name a new file: a backup never replaces another.',
  });
}

async function* archiveBytes(
  about: BackupAbout,
  paths: readonly StoredPath[],
  manifest: BackupManifest,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const hashed = (chunk: Buffer): Buffer => {
    hash.update(chunk);
    return chunk;
  };
  for (const part of jsonEntry(ABOUT, about)) yield hashed(part);
  for (const { from, path } of paths)
    for await (const chunk of entriesOf(from, path, manifest)) yield hashed(chunk);
  manifest.sha256 = hash.digest('hex');
  yield* jsonEntry(MANIFEST, manifest);
  yield TAR_END;
}

async function* entriesOf(from: string, path: string, manifest: BackupManifest): AsyncGenerator<Buffer> {
  if (path.endsWith('/')) {
    yield tarHeader({ path, bytes: 0 });
    for (const entry of await readdir(from, { withFileTypes: true })) {
      if (isLeftOut(path, entry.name)) continue;
      if (!entry.isFile() && !entry.isDirectory())
        throw new RowmillError(
          'BACKUP_REFUSED',
          `expected ${join(from, entry.name)} to be a file or a folder, it is a link or a device`,
          { hint: 'Tablespaces are not supported. Use pg_basebackup of your own PostgreSQL installation.' },
        );
      yield* entriesOf(
        join(from, entry.name),
        `${path}${entry.name}${entry.isDirectory() ? '/' : ''}`,
        manifest,
      );
    }
    return;
  }
  const file = await open(from, 'r');
  try {
    const { size } = await file.stat();
    yield tarHeader({ path, bytes: size });
    let read = 0;
    // Exactly as long as the header says, even if the file grows meanwhile.
    if (size > 0)
      for await (const chunk of file.createReadStream({ end: size - 1, autoClose: false })) {
        read += (chunk as Buffer).length;
        yield chunk as Buffer;
      }
    if (read !== size) throw new Error(`${from} became shorter while it was read`);
    yield paddingOf(size);
    manifest.files += 1;
    manifest.bytes += size;
  } finally {
    await file.close();
  }
}

/** Files of a server that is down, which the next start writes again or refuses to find. */
function isLeftOut(folder: string, name: string): boolean {
  return (
    (folder === 'pgdata/' && (name === 'postmaster.pid' || name === 'postmaster.opts')) ||
    (folder === 'blobs/' && name === '.staging')
  );
}

function jsonEntry(path: string, value: object): Buffer[] {
  const text = Buffer.from(`${JSON.stringify(value)}\n`);
  return [tarHeader({ path, bytes: text.length }), text, paddingOf(text.length)];
}

export interface ArchiveReader {
  /** Called first; throws to refuse the backup before anything is written. */
  onAbout(about: BackupAbout): Promise<void>;
  /** Must read `content` to its end. */
  onEntry(entry: TarEntry, content: AsyncIterable<Buffer>): Promise<void>;
}

/** Reads the whole archive, and throws BACKUP_INVALID unless it is complete and unchanged. */
export async function readArchive(file: string, reader: ArchiveReader): Promise<BackupManifest> {
  const input = createReadStream(file);
  const bytes = new ByteReader(input.pipe(createGunzip()), input);
  const seen: BackupManifest = { files: 0, bytes: 0, sha256: '' };
  let isFirst = true;
  try {
    for (;;) {
      const before = bytes.hash.copy();
      const entry = await readTarHeader((count) => bytes.read(count));
      if (entry === null) throw new Error('it has no manifest');
      if (isFirst !== (entry.path === ABOUT)) throw new Error('it is not a backup of Rowmill');
      if (entry.path === ABOUT) await reader.onAbout((await readJson(bytes, entry)) as BackupAbout);
      else if (entry.path === MANIFEST) {
        const manifest = (await readJson(bytes, entry)) as BackupManifest;
        seen.sha256 = before.digest('hex');
        if (JSON.stringify(manifest) !== JSON.stringify(seen))
          throw new Error('its content does not match its manifest');
        return manifest;
      } else {
        await reader.onEntry(entry, bytes.stream(entry.bytes));
        await bytes.read(paddingOf(entry.bytes).length);
        if (!entry.path.endsWith('/')) {
          seen.files += 1;
          seen.bytes += entry.bytes;
        }
      }
      isFirst = false;
    }
  } catch (cause) {
    if (cause instanceof RowmillError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new RowmillError('BACKUP_INVALID', `cannot read ${file}: ${message}`, { cause });
    if (code === 'ENOSPC' || code === 'EROFS') throw cause;
    throw new RowmillError('BACKUP_INVALID', `${file} is not a complete backup: ${message}`, { cause });
  } finally {
    input.destroy();
  }
}

async function readJson(bytes: ByteReader, entry: TarEntry): Promise<unknown> {
  if (entry.bytes > MAX_JSON_BYTES) throw new Error(`${entry.path} is too large`);
  const text = (await bytes.read(entry.bytes)).toString();
  await bytes.read(paddingOf(entry.bytes).length);
  return JSON.parse(text);
}

/** Cuts a stream of chunks into the pieces that the format asks for, and hashes what was taken. */
class ByteReader {
  readonly hash: Hash = createHash('sha256');
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(
    stream: NodeJS.ReadableStream & { destroy(error?: Error): void },
    source: NodeJS.ReadableStream,
  ) {
    source.on('error', (error) => stream.destroy(error));
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async read(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.stream(bytes)) parts.push(part);
    return Buffer.concat(parts);
  }

  async *stream(bytes: number): AsyncGenerator<Buffer> {
    let left = bytes;
    while (left > 0) {
      if (this.#rest.length === 0) {
        const next = await this.#chunks.next();
        if (next.done === true) throw new Error('it ends too early');
        this.#rest = next.value;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      this.hash.update(part);
      yield part;
    }
  }
}

/** Folders cannot be synced on Windows. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
