// Files that appear in a local folder. Only names directly below the configured root (or, with `recursive`, a few
// levels below) are considered. Links, files with a second name, devices, pipes and sockets are never opened.
//
// A file is taken when it has not changed for stableMs: either its times are older than that by the clock of the file
// system itself, or two polls that far apart found the same file. A file that was just renamed into the folder has an
// old modification time but a new change time; so does a file whose writer set its time and is still writing. The two
// look the same, so both wait for the second poll.
import type { BigIntStats } from 'node:fs';
import { lstat, open, readdir, realpath, rename, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { newId } from '../../platform/random.ts';
import { createFileNameFilter } from './file-name-filter.ts';
import { moveToFreeName, writeNewFile } from './move-without-overwriting.ts';
import {
  liesWithin,
  openWithoutFollowing,
  type PinnedFolder,
  pinFolder,
  pinSubfolder,
} from './pinned-folder.ts';
import type {
  HeldFile,
  OpenedSourceFile,
  Settlement,
  SourceAdapter,
  SourceFile,
  SourceLook,
} from './source-adapter.ts';
import type { FolderSourceConfig } from './source-config.ts';
import { fingerprintOf, heldName, isOfSource, parseHeldName, sourceFileId } from './source-file-id.ts';
import { createSteadyFiles } from './steady-files.ts';

const HELD = '.processing';
const OUTCOMES = { done: '.done', failed: '.failed' } as const;
const CLOCK_FILE = '.clock';
const MAX_DEPTH = 5;
const STATS_AT_ONCE = 64;
const READ_BYTES = 262_144;

interface Found {
  folders: string[];
  name: string;
  stats: BigIntStats;
}

interface OpenFolders {
  root: PinnedFolder;
  held: PinnedFolder;
  done: PinnedFolder;
  failed: PinnedFolder;
}

export class FolderSource implements SourceAdapter {
  readonly description: string;
  readonly #config: FolderSourceConfig;
  readonly #stableMs: number;
  readonly #takeable: (name: string) => boolean;
  readonly #steadyFiles: ReturnType<typeof createSteadyFiles>;
  #folders: OpenFolders | null = null;

  constructor(config: FolderSourceConfig, stableMs: number) {
    this.description = `folder ${config.path}`;
    this.#config = config;
    this.#stableMs = stableMs;
    this.#takeable = createFileNameFilter(config.include);
    this.#steadyFiles = createSteadyFiles(stableMs);
  }

  async hold(file: SourceFile): Promise<boolean> {
    const { held } = await this.#openFolders();
    const target = join(held.path, heldName(file.fileId, file.name));
    await this.#within(parentsOf(file.path), async (folder) => {
      const source = join(folder.path, file.name);
      if (isClaimed(file.fileId, await lstat(source, { bigint: true }))) await rename(source, target);
    }).catch(ignoreGone);
    // Checked again in .processing, where no other program renames: the file may have been replaced between the check
    // above and the rename.
    const stats = await lstat(target, { bigint: true }).catch(ignoreGone);
    if (!stats) return false;
    if (isClaimed(file.fileId, stats)) return true;
    await this.giveBack(file);
    return false;
  }

  async open(file: SourceFile): Promise<OpenedSourceFile> {
    const { held, root } = await this.#openFolders();
    const name = heldName(file.fileId, file.name);
    const handle = await openWithoutFollowing(held, name);
    try {
      const same = isClaimed(file.fileId, await handle.stat({ bigint: true }));
      if (!same || !(await liesWithin(handle, root, join(HELD, name)))) {
        throw new Error('it is not the file that was claimed');
      }
    } catch (error) {
      await handle.close();
      throw error;
    }
    async function* bytes(): AsyncGenerator<Buffer> {
      for (;;) {
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, null);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    }
    return {
      bytes: bytes(),
      unchanged: async () => isClaimed(file.fileId, await handle.stat({ bigint: true })),
      close: () => handle.close(),
    };
  }

  async settle(file: SourceFile, settlement: Settlement): Promise<void> {
    // A finished file may be offered again: it was put back on a file system whose rename does not change its times,
    // or it could not be moved when it failed.
    if (!(await this.hold(file).catch(ignoreForbidden))) return;
    const { held, [settlement.state]: target } = await this.#openFolders();
    const source = join(held.path, heldName(file.fileId, file.name));
    const moved = await moveToFreeName(source, target.path, basename(file.path)).catch(ignoreGone);
    // The claim row has the reason too, in case this process dies here.
    if (moved !== undefined && settlement.state === 'failed') {
      await writeNewFile(target.path, moved, '.reason.txt', `${settlement.reason}\n`);
    }
  }

  async giveBack(file: SourceFile): Promise<void> {
    const { held, root } = await this.#openFolders();
    const source = join(held.path, heldName(file.fileId, file.name));
    const putInto = (folder: PinnedFolder) => moveToFreeName(source, folder.path, basename(file.path));
    const parents = parentsOf(file.path);
    if (parents.length > 0) {
      const done = await this.#within(parents, putInto).then(() => true, ignoreGone);
      if (done) return;
    }
    // The folder it came from may be gone, so the file goes to the root.
    await putInto(root).catch(ignoreGone);
  }

  async disconnect(): Promise<void> {
    const opened = this.#folders;
    this.#folders = null;
    for (const folder of Object.values(opened ?? {})) await (folder as PinnedFolder).close();
  }

  async look(signal: AbortSignal): Promise<SourceLook> {
    try {
      return await this.#look(signal);
    } catch (cause) {
      if (cause instanceof RowmillError || signal.aborted) throw cause;
      throw new RowmillError(
        'SOURCE_UNAVAILABLE',
        `cannot read ${this.#config.path}: ${(cause as Error).message}`,
        {
          cause,
        },
      );
    }
  }

  async #openFolders(): Promise<OpenFolders> {
    if (this.#folders) return this.#folders;
    const opened: PinnedFolder[] = [];
    const keep = async (pinning: Promise<PinnedFolder>): Promise<PinnedFolder> => {
      const folder = await pinning;
      opened.push(folder);
      return folder;
    };
    try {
      const root = await keep(pinFolder(await realpath(this.#config.path)));
      const held = await keep(pinSubfolder(root, HELD, true));
      const done = await keep(pinSubfolder(root, OUTCOMES.done, true));
      const failed = await keep(pinSubfolder(root, OUTCOMES.failed, true));
      this.#folders = { root, held, done, failed };
      return this.#folders;
    } catch (cause) {
      for (const folder of opened) await folder.close();
      throw new RowmillError(
        'SOURCE_UNAVAILABLE',
        `expected ${this.#config.path} to be a folder in which ${HELD}, ${OUTCOMES.done} and ${OUTCOMES.failed} can be created and are not links: ${(cause as Error).message}`,
        { cause },
      );
    }
  }

  /** Runs `work` in the folder of the file. Each level is opened without following links. */
  async #within<T>(parents: string[], work: (folder: PinnedFolder) => Promise<T>): Promise<T> {
    const { root } = await this.#openFolders();
    const opened: PinnedFolder[] = [];
    try {
      for (const parent of parents) opened.push(await pinSubfolder(opened.at(-1) ?? root, parent, false));
      return await work(opened.at(-1) ?? root);
    } finally {
      for (const folder of opened) await folder.close();
    }
  }

  async #findFiles(signal: AbortSignal, refused: SourceLook['refused']): Promise<Found[]> {
    const found: Found[] = [];
    const visit = async (folder: PinnedFolder, parents: string[]): Promise<void> => {
      for (const { name, stats } of await readFolder(folder, signal)) {
        const path = [...parents, name ?? '?'].join('/');
        if (name === null) refused.push({ path, reason: 'its name is not UTF-8' });
        else if (stats.isDirectory()) {
          if (this.#config.recursive !== true || name.startsWith('.')) continue;
          if (parents.length >= MAX_DEPTH)
            refused.push({ path, reason: `it is deeper than ${MAX_DEPTH} folders` });
          else
            await this.#within([...parents, name], (below) => visit(below, [...parents, name])).catch(
              ignoreGone,
            );
        } else if (this.#takeable(name)) {
          const reason = whyRefused(stats);
          if (reason === null) found.push({ folders: parents, name, stats });
          else refused.push({ path, reason });
        }
      }
    };
    await visit((await this.#openFolders()).root, []);
    return found;
  }

  async #findHeld(signal: AbortSignal, refused: SourceLook['refused']): Promise<HeldFile[]> {
    const { held } = await this.#openFolders();
    const found: HeldFile[] = [];
    const entries = (await readFolder(held, signal)).filter(({ name }) => !name?.startsWith(CLOCK_FILE));
    if (entries.length === 0) return found;
    const now = await fileSystemNow(held);
    for (const { name, stats } of entries) {
      const parsed = name === null ? null : parseHeldName(name);
      if (parsed === null) {
        refused.push({ path: `${HELD}/${name ?? '?'}`, reason: 'it was not put there by Rowmill' });
        continue;
      }
      if (!isOfSource(parsed.fileId, this.#config.name)) continue;
      const file = { ...parsed, path: parsed.name, ...describeStats(stats) };
      if (isClaimed(parsed.fileId, stats)) {
        found.push({ ...file, heldMs: Math.max(0, Number((now - stats.ctimeNs) / 1_000_000n)) });
        continue;
      }
      // It was moved here under the claim of another file, or is still being written.
      await this.giveBack(file).catch((error: Error) => {
        refused.push({ path: `${HELD}/${name}`, reason: `it cannot be moved back: ${error.message}` });
      });
    }
    return found;
  }

  async #look(signal: AbortSignal): Promise<SourceLook> {
    const refused: SourceLook['refused'] = [];
    // First the root, then .processing: a file that is moved between the two is seen twice, but never missed.
    const found = await this.#findFiles(signal, refused);
    const held = await this.#findHeld(signal, refused);
    const files = found.map(({ folders: parents, name, stats }) => {
      const path = [...parents, name].join('/');
      const fileId = sourceFileId(this.#config.name, path, [
        stats.size,
        stats.mtimeNs,
        stats.ino,
        stats.ctimeNs,
      ]);
      return { fileId, path, name, ...describeStats(stats), touchedNs: maxOf(stats.mtimeNs, stats.ctimeNs) };
    });
    const steady = this.#steadyFiles(
      files.map((file) => file.fileId),
      monotonicMs(),
    );
    if (files.some((file) => !steady.has(file.fileId))) {
      const restingSince =
        (await fileSystemNow((await this.#openFolders()).held)) - BigInt(this.#stableMs) * 1_000_000n;
      for (const file of files) if (file.touchedNs <= restingSince) steady.add(file.fileId);
    }
    return {
      offered: files
        .filter((file) => steady.has(file.fileId))
        .map(({ touchedNs: _, ...file }) => file)
        .sort((a, b) => a.modifiedMs - b.modifiedMs || (a.path < b.path ? -1 : 1)),
      held,
      waiting: files.filter((file) => !steady.has(file.fileId)).map((file) => file.fileId),
      refused,
    };
  }
}

/** Entries with their stats. A name that is not UTF-8 is null, because no string can address it. */
async function readFolder(
  folder: PinnedFolder,
  signal: AbortSignal,
): Promise<{ name: string | null; stats: BigIntStats }[]> {
  const entries: { name: string | null; stats: BigIntStats }[] = [];
  const names = await readdir(folder.path, { encoding: 'buffer' });
  for (let from = 0; from < names.length; from += STATS_AT_ONCE) {
    signal.throwIfAborted();
    const some = names.slice(from, from + STATS_AT_ONCE).map(async (raw) => {
      const text = raw.toString('utf8');
      const path = Buffer.concat([Buffer.from(`${folder.path}/`), raw]);
      const stats = await lstat(path, { bigint: true }).catch(ignoreGone);
      if (stats) entries.push({ name: Buffer.from(text).equals(raw) ? text : null, stats });
    });
    await Promise.all(some);
  }
  return entries;
}

function whyRefused(stats: BigIntStats): string | null {
  if (stats.isSymbolicLink()) return 'it is a symbolic link';
  if (!stats.isFile()) return 'it is a device, a pipe or a socket';
  if (stats.nlink > 1n) return 'it is a hard link: the same file has another name';
  return null;
}

/**
 * Compares size, modification time and inode. The rename changed the change time. A second name is not checked here: it
 * was ruled out when the file was offered, and the file has one for a moment while it is moved away.
 */
function isClaimed(fileId: string, stats: BigIntStats): boolean {
  const [size, mtimeNs, ino] = fingerprintOf(fileId);
  return stats.isFile() && stats.size === size && stats.mtimeNs === mtimeNs && stats.ino === ino;
}

/** The time in nanoseconds by the clock of the file system, which may be on another machine. */
async function fileSystemNow(held: PinnedFolder): Promise<bigint> {
  const path = join(held.path, `${CLOCK_FILE}-${newId()}`);
  const handle = await open(path, 'wx');
  try {
    await handle.write('.');
    return (await handle.stat({ bigint: true })).mtimeNs;
  } finally {
    await handle.close();
    await unlink(path).catch(ignoreGone);
  }
}

function describeStats(stats: BigIntStats): { bytes: number; modifiedMs: number } {
  return { bytes: Number(stats.size), modifiedMs: Number(stats.mtimeNs / 1_000_000n) };
}

function parentsOf(path: string): string[] {
  return path.split('/').slice(0, -1);
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Ignores errors of a file that is gone, or of a parent that is no longer a folder. */
function ignoreGone(error: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
}

function ignoreForbidden(error: unknown): undefined {
  if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
}
