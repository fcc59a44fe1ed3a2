// Files that appear in a folder of a server that can list, read and rename: FTP and SFTP. Such a server reports only
// size and modification time, so a file is taken only after two polls at least stableMs apart found them unchanged.
// If the server does not allow renaming, files stay in place and only the claim rows track them.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { withoutTrailing } from '../../core/files/without-trailing.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { createFileNameFilter } from './file-name-filter.ts';
import { numberedName } from './move-without-overwriting.ts';
import type {
  HeldFile,
  OpenedSourceFile,
  Settlement,
  SourceAdapter,
  SourceFile,
  SourceLook,
} from './source-adapter.ts';
import { fingerprintOf, heldName, isOfSource, parseHeldName, sourceFileId } from './source-file-id.ts';
import { createSteadyFiles } from './steady-files.ts';

export interface RemoteStats {
  bytes: number;
  modifiedMs: number;
}

export interface RemoteEntry {
  name: string;
  kind: 'file' | 'folder' | 'other';
  /** Null if the listing has none: then `stat` is called for each file. */
  stats: RemoteStats | null;
}

/** One server. Paths are absolute on it. Every operation has a deadline, and reconnects if necessary. */
export interface RemoteFolder {
  readonly description: string;
  /** Returns the absolute path of the folder. Throws SOURCE_UNAVAILABLE or SOURCE_INVALID if it is unreachable. */
  connect(): Promise<string>;
  list(folder: string): Promise<RemoteEntry[]>;
  /** Null if there is no such file. */
  stat(path: string): Promise<RemoteStats | null>;
  /** True also if the folder exists already; false if the server does not allow it. */
  makeFolder(path: string): Promise<boolean>;
  rename(from: string, to: string): Promise<void>;
  read(path: string, signal: AbortSignal): AsyncIterable<Buffer>;
  write(path: string, text: string): Promise<void>;
  disconnect(): Promise<void>;
}

const HELD = '.processing';
const OUTCOMES = { done: '.done', failed: '.failed' } as const;
const MAX_FREE_NAMES = 100;
/** Names that would lead to another folder, or that the protocol cannot express. */
const UNUSABLE_NAME = /[/\0\r\n]|^\.\.?$/;

export class RemoteFolderSource implements SourceAdapter {
  readonly description: string;
  readonly #remote: RemoteFolder;
  /** Name of the source in the configuration. */
  readonly #source: string;
  readonly #takeable: (name: string) => boolean;
  readonly #steadyFiles: ReturnType<typeof createSteadyFiles>;
  #heldSince = new Map<string, number>();
  #root = '';
  #canRename = false;

  constructor(remote: RemoteFolder, options: { source: string; include?: string[]; stableMs: number }) {
    this.description = remote.description;
    this.#remote = remote;
    this.#source = options.source;
    this.#takeable = createFileNameFilter(options.include);
    this.#steadyFiles = createSteadyFiles(options.stableMs);
  }

  async look(signal: AbortSignal): Promise<SourceLook> {
    await this.#connect();
    const refused: SourceLook['refused'] = [];
    const listed = await this.#listFiles(this.#root, refused, this.#takeable);
    signal.throwIfAborted();
    const held = await this.#findHeld(refused);
    const files = listed.map(({ name, stats }) => {
      const fileId = sourceFileId(this.#source, name, [BigInt(stats.bytes), BigInt(stats.modifiedMs)]);
      return { fileId, path: name, name, ...stats };
    });
    const steady = this.#steadyFiles(
      files.map((file) => file.fileId),
      monotonicMs(),
    );
    return {
      offered: files
        .filter((file) => steady.has(file.fileId))
        .sort((a, b) => a.modifiedMs - b.modifiedMs || (a.path < b.path ? -1 : 1)),
      held,
      waiting: files.filter((file) => !steady.has(file.fileId)).map((file) => file.fileId),
      refused,
    };
  }

  async hold(file: SourceFile): Promise<boolean> {
    const path = await this.#locate(file);
    if (path === null) return false;
    if (!this.#canRename || path === this.#heldPath(file)) return true;
    try {
      await this.#remote.rename(path, this.#heldPath(file));
    } catch (error) {
      // Another poller may have moved it first. If the server refuses the rename, only the claim row tracks the file.
      if (error instanceof RowmillError || (await this.#locate(file)) === null) throw error;
      return true;
    }
    const stats = await this.#remote.stat(this.#heldPath(file));
    if (stats && isClaimed(file.fileId, stats)) return true;
    await this.giveBack(file);
    return false;
  }

  async open(file: SourceFile, signal: AbortSignal): Promise<OpenedSourceFile> {
    const path = await this.#locate(file);
    if (path === null) throw new Error('it is not the file that was claimed');
    return {
      bytes: this.#remote.read(path, signal),
      unchanged: async () => {
        const stats = await this.#remote.stat(path);
        return stats !== null && isClaimed(file.fileId, stats);
      },
      close: async () => {},
    };
  }

  async settle(file: SourceFile, settlement: Settlement): Promise<void> {
    if (!this.#canRename || !(await this.hold(file)) || (await this.#locate(file)) !== this.#heldPath(file))
      return;
    // The held name is unique, so it is kept: an FTP rename overwrites an existing file.
    const name = heldName(file.fileId, file.name);
    const folder = `${this.#root}/${OUTCOMES[settlement.state]}`;
    await this.#remote.rename(this.#heldPath(file), `${folder}/${name}`);
    if (settlement.state === 'failed') {
      await this.#remote.write(`${folder}/${numberedName(name, 1, '.reason.txt')}`, `${settlement.reason}\n`);
    }
  }

  async giveBack(file: SourceFile): Promise<void> {
    if (!this.#canRename || (await this.#remote.stat(this.#heldPath(file))) === null) return;
    for (let number = 1; number <= MAX_FREE_NAMES; number += 1) {
      const target = `${this.#root}/${numberedName(file.name, number)}`;
      if ((await this.#remote.stat(target)) === null)
        return this.#remote.rename(this.#heldPath(file), target);
    }
    throw new Error(`there are more than ${MAX_FREE_NAMES} files called ${JSON.stringify(file.name)}`);
  }

  disconnect(): Promise<void> {
    return this.#remote.disconnect();
  }

  #offeredPath(file: SourceFile): string {
    return `${this.#root}/${file.name}`;
  }

  #heldPath(file: SourceFile): string {
    return `${this.#root}/${HELD}/${heldName(file.fileId, file.name)}`;
  }

  async #connect(): Promise<void> {
    this.#root = withoutTrailing(await this.#remote.connect(), '/');
    this.#canRename = true;
    for (const folder of [HELD, OUTCOMES.done, OUTCOMES.failed]) {
      this.#canRename &&= await this.#remote.makeFolder(`${this.#root}/${folder}`);
    }
  }

  async #listFiles(folder: string, refused: SourceLook['refused'], wanted: (name: string) => boolean) {
    const files: { name: string; stats: RemoteStats }[] = [];
    for (const { name, kind, stats } of await this.#remote.list(folder)) {
      if (kind === 'folder' || !wanted(name)) continue;
      if (UNUSABLE_NAME.test(name)) refused.push({ path: name, reason: 'its name cannot be used' });
      else if (kind === 'other')
        refused.push({ path: name, reason: 'it is not a regular file; it may be a link' });
      else {
        const known = stats ?? (await this.#remote.stat(`${folder}/${name}`));
        if (known) files.push({ name, stats: known });
      }
    }
    return files;
  }

  async #findHeld(refused: SourceLook['refused']): Promise<HeldFile[]> {
    if (!this.#canRename) return [];
    const found: HeldFile[] = [];
    const seen = new Map<string, number>();
    const now = monotonicMs();
    for (const { name, stats } of await this.#listFiles(`${this.#root}/${HELD}`, refused, () => true)) {
      const parsed = parseHeldName(name);
      if (!parsed || !isOfSource(parsed.fileId, this.#source)) continue;
      const file = { ...parsed, path: parsed.name, ...stats };
      if (!isClaimed(parsed.fileId, stats)) {
        await this.giveBack(file).catch((error: Error) => {
          refused.push({ path: `${HELD}/${name}`, reason: `it cannot be moved back: ${error.message}` });
        });
        continue;
      }
      const since = this.#heldSince.get(parsed.fileId) ?? now;
      seen.set(parsed.fileId, since);
      found.push({ ...file, heldMs: now - since });
    }
    this.#heldSince = seen;
    return found;
  }

  /** The current path of the claimed file, or null. */
  async #locate(file: SourceFile): Promise<string | null> {
    for (const path of this.#canRename
      ? [this.#heldPath(file), this.#offeredPath(file)]
      : [this.#offeredPath(file)]) {
      const stats = await this.#remote.stat(path);
      if (stats && isClaimed(file.fileId, stats)) return path;
    }
    return null;
  }
}

function isClaimed(fileId: string, stats: RemoteStats): boolean {
  const [bytes, modifiedMs] = fingerprintOf(fileId);
  return BigInt(stats.bytes) === bytes && BigInt(stats.modifiedMs) === modifiedMs;
}
