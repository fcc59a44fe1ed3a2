// Folders from which programs are executed: only we may write to them, everyone may read them. Another local user
// who could write here, or who made the folder before us, would have its programs run in our name.
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
    throw new Error(`expected ${path} to be owned by us, its owner is ${self.uid}`);
  if ((self.mode & 0o022) !== 0) throw new Error(`expected ${path} to be writable by its owner only`);
  // Whoever may rename entries of the parent may swap the folder for another one; the sticky bit of /tmp forbids it.
  const { mode } = await stat(parent);
  if ((mode & 0o002) !== 0 && (mode & 0o1000) === 0) {
    throw new Error(`expected ${parent} not to be writable by everyone`);
  }
}

/**
 * Where the copy of the binaries may live, best first. The temporary folder comes late because cleaners take files
 * from it under a running server; the data folder comes last because it is copied and backed up by its user.
 */
export function binaryCacheRoots(dataDir: string): string[] {
  return [
    userCacheFolder(),
    join(tmpdir(), `rowmill-${process.getuid?.() ?? 'cache'}`),
    join(dataDir, 'cache'),
  ];
}

function userCacheFolder(): string {
  // Root's own home is closed to the user the server runs as.
  const root = process.getuid?.() === 0;
  if (process.platform === 'darwin') return join(root ? '/' : homedir(), 'Library', 'Caches', 'rowmill');
  if (process.platform === 'win32') return join(process.env.LOCALAPPDATA ?? homedir(), 'rowmill', 'cache');
  if (root) return '/var/cache/rowmill';
  const xdg = process.env.XDG_CACHE_HOME;
  return join(xdg?.startsWith('/') ? xdg : join(homedir(), '.cache'), 'rowmill');
}
