// Notices when one of a set of files has other content. It watches folders, because editors replace files, and compares
// content, because one save is several events.
import { createHash } from 'node:crypto';
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { monotonicMs, waitMs } from '../../platform/clock.ts';

/** A file that is being written is read again after this time, until it no longer changes. */
const SETTLE_MS = 20;
/** Editors empty or remove a file before they write it: that counts as its content only after this time. */
const EMPTY_MS = 500;

/** Content hash by path; null: the file is empty or does not exist. */
export type Contents = ReadonlyMap<string, string | null>;

export class FileWatch {
  readonly #folders = new Map<string, FSWatcher>();
  readonly #onUnwatched: (folder: string, error: Error) => void;
  #hasEvent = false;
  #wake: () => void = () => {};

  /** `onUnwatched` runs for a folder that cannot be watched. */
  constructor(onUnwatched: (folder: string, error: Error) => void) {
    this.#onUnwatched = onUnwatched;
  }

  /** Replaces the set of files. Changes since `contents` was read are noticed, too. */
  watch(files: Iterable<string>): void {
    const folders = new Set([...files].map((file) => dirname(file)));
    for (const [folder, watcher] of this.#folders)
      if (!folders.has(folder)) {
        watcher.close();
        this.#folders.delete(folder);
      }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#open(folder);
  }

  /** Resolves after an event in a watched folder, when the files no longer change; null after `signal`. */
  async next(files: Iterable<string>, signal: AbortSignal): Promise<Contents | null> {
    const paths = [...files];
    await this.#event(signal);
    const lastMs = monotonicMs() + EMPTY_MS;
    for (let before = readContents(paths); !signal.aborted; ) {
      await waitMs(SETTLE_MS, signal);
      this.#hasEvent = false;
      const now = readContents(paths);
      const isWritten = ![...now.values()].includes(null) || monotonicMs() >= lastMs;
      if (isWritten && !differ(before, now)) return now;
      before = now;
    }
    return null;
  }

  close(): void {
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #open(folder: string): void {
    const fail = (error: Error): void => {
      this.#folders.get(folder)?.close();
      this.#folders.delete(folder);
      this.#onUnwatched(folder, error);
    };
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#note());
      this.#folders.set(folder, watcher);
      watcher.on('error', fail);
    } catch (error) {
      fail(error as Error);
    }
    // The files may have changed before the folder was watched.
    this.#note();
  }

  #note(): void {
    this.#hasEvent = true;
    this.#wake();
  }

  async #event(signal: AbortSignal): Promise<void> {
    if (this.#hasEvent || signal.aborted) return;
    const event = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    signal.addEventListener('abort', this.#wake);
    await event;
    signal.removeEventListener('abort', this.#wake);
  }
}

export function readContents(files: Iterable<string>): Contents {
  return new Map([...files].map((file) => [file, hashOf(file)]));
}

/** True if a file of `now` has other content than in `before`. */
export function differ(before: Contents, now: Contents): boolean {
  return [...now].some(([file, hash]) => before.get(file) !== hash);
}

function hashOf(file: string): string | null {
  try {
    const content = readFileSync(file);
    return content.length === 0 ? null : createHash('sha256').update(content).digest('base64');
  } catch {
    return null;
  }
}
