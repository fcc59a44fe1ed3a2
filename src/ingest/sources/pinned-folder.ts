// A folder held open, so that every name is looked up in this very folder, even if a part of its path is replaced by a
// link afterwards. Linux supports this through /proc; elsewhere the checked path itself is used.
import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';

export interface PinnedFolder {
  /** For file operations: `${path}/${name}`. */
  readonly path: string;
  close(): Promise<void>;
}

const HAS_DESCRIPTOR_PATHS = process.platform === 'linux' && existsSync('/proc/self/fd');
// Windows has neither O_NOFOLLOW nor O_DIRECTORY.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
/** Anyone may read .done and .failed, but only their owner and group may change them. */
const FOLDER_MODE = 0o775;
const FOLDER_ONLY = constants.O_DIRECTORY ?? 0;

/** Fails with ELOOP or ENOTDIR if the last part of the path is not a folder but, for example, a link to one. */
export async function pinFolder(path: string): Promise<PinnedFolder> {
  if (process.platform === 'win32') return { path, close: async () => {} };
  const handle = await open(path, constants.O_RDONLY | FOLDER_ONLY | NO_FOLLOW);
  return {
    path: HAS_DESCRIPTOR_PATHS ? `/proc/self/fd/${handle.fd}` : path,
    close: () => handle.close(),
  };
}

/** Opens a folder below another. With `make`, creates it if it does not exist. */
export async function pinSubfolder(parent: PinnedFolder, name: string, make: boolean): Promise<PinnedFolder> {
  const path = join(parent.path, name);
  if (make) await mkdir(path, { mode: FOLDER_MODE }).catch(ignoreExisting);
  return pinFolder(path);
}

/** Opens a file for reading without following a link and without waiting for the other end of a pipe. */
export function openWithoutFollowing(folder: PinnedFolder, name: string): Promise<FileHandle> {
  return open(join(folder.path, name), constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0));
}

/** Whether an open file is in the folder, whatever path it was opened by. */
export async function liesWithin(handle: FileHandle, folder: PinnedFolder, name: string): Promise<boolean> {
  const [file, root] = HAS_DESCRIPTOR_PATHS
    ? await Promise.all([readlink(`/proc/self/fd/${handle.fd}`), readlink(folder.path)])
    : await Promise.all([realpath(join(folder.path, name)), realpath(folder.path)]);
  return file.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
