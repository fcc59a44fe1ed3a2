// Folders from which programs are executed: only this user may write to them, everyone may read them. Another local
// user who could write to them, or who created the folder first, could run programs under our account.
import { chmod, lstat, mkdir, stat } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export async function ensurePrivateFolder(path: string): Promise<void> {
  const parent = dirname(path);
  await mkdir(parent, { recursive: true });
  const created = await mkdir(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return false;
    },
  );
  if (process.getuid === undefined) return;
  if (created) await chmod(path, 0o755);

  const self = await lstat(path);
  if (!self.isDirectory()) throw new Error(`expected ${path} to be a folder`);
  if (self.uid !== process.getuid())
    throw new Error(`expected ${path} to be owned by this user, its owner is ${self.uid}`);
  if ((self.mode & 0o022) !== 0) throw new Error(`expected ${path} to be writable by its owner only`);
  // A user who may rename entries of the parent could replace the folder. The sticky bit of /tmp prevents that.
  const { mode } = await stat(parent);
  if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0) {
    throw new Error(`expected ${parent} not to be writable by everyone`);
  }
}

/**
 * Folders for the copy of the binaries, best first. The temporary folder comes late because cleaners remove files
 * from it while a server runs. The data folder comes last because its user copies it and backs it up.
 */
export function binaryCacheRoots(dataDir: string): string[] {
  return [
    userCacheFolder(),
    join(tmpdir(), `rowmill-${process.getuid?.() ?? 'cache'}`),
    join(dataDir, 'cache'),
  ];
}

function userCacheFolder(): string {
  // The user of the server cannot enter root's home.
  const root = process.getuid?.() === 0;
  if (process.platform === 'darwin') return join(root ? '/' : homedir(), 'Library', 'Caches', 'rowmill');
  if (process.platform === 'win32') return join(process.env.LOCALAPPDATA ?? homedir(), 'rowmill', 'cache');
  if (root) return '/var/cache/rowmill';
  const xdg = process.env.XDG_CACHE_HOME;
  return join(xdg?.startsWith('/') ? xdg : join(homedir(), '.cache'), 'rowmill');
}
