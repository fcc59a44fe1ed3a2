// Copies the binaries to a folder outside node_modules, once per version, and returns their paths.
//
// The binaries in node_modules are not run in place: npm may not have run the script that creates the library links
// (npm 12, --ignore-scripts); files may lack their x bit; the server's user may not be able to enter the checkout
// (/root); and `npm ci` would delete libraries that a running server still has to load.
import { createHash, randomUUID } from 'node:crypto';
import { constants, lstatSync, readdirSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { ServerUser } from './choose-server-user.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { ensurePrivateFolder } from './private-folder.ts';
import type { PostgresPackage } from './resolve-postgres-package.ts';
import { runProgram } from './run-program.ts';

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
  pgCtl: string;
  env: NodeJS.ProcessEnv;
}

interface Manifest {
  key: string;
  files: { path: string; size: number; mode: number }[];
  links: { path: string; target: string }[];
}

export async function installBinaries(
  source: PostgresPackage,
  cacheRoots: string[],
  user: ServerUser | null,
): Promise<PostgresBinaries> {
  const manifest = await readManifest(source);
  const failures: string[] = [];
  for (const cacheRoot of cacheRoots) {
    try {
      await ensurePrivateFolder(cacheRoot);
      const target = join(cacheRoot, `postgres-${manifest.key}`);
      await installInto(target, source.nativeDir, manifest);
      const binaries = describeBinaries(target);
      // Proves that this user can execute it here, with all its libraries.
      for (const program of [binaries.postgres, binaries.initdb]) {
        const result = await runProgram(program, ['--version'], { user, env: binaries.env, cwd: target });
        if (!result.ok) throw new Error(`${program} --version: ${result.output}`);
      }
      return binaries;
    } catch (error) {
      failures.push(`${cacheRoot}: ${(error as Error).message}`);
    }
  }
  throw new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_BINARIES_UNUSABLE',
    `expected PostgreSQL ${source.serverVersion} to run on this machine, got: ${failures.join('; ')}`,
    'Use a system with glibc (not Alpine) and a cache folder that allows executing programs, ' +
      'or set DATABASE_URL to your own PostgreSQL server.',
  );
}

function describeBinaries(dir: string): PostgresBinaries {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return {
    postgres: join(dir, 'bin', `postgres${suffix}`),
    initdb: join(dir, 'bin', `initdb${suffix}`),
    pgCtl: join(dir, 'bin', `pg_ctl${suffix}`),
    env: serverEnvironment(join(dir, 'lib')),
  };
}

async function readManifest(source: PostgresPackage): Promise<Manifest> {
  const files: Manifest['files'] = [];
  // Synchronous, here and in copyMissing: a thousand files take 25 ms at each start, against 90 ms through the thread
  // pool.
  const entries = readdirSync(source.nativeDir, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    // Static libraries are only for compilers. Links are recreated from the list below, whether npm created them or
    // not.
    if (!entry.isFile() || entry.name.endsWith('.a')) continue;
    const absolute = join(entry.parentPath, entry.name);
    const path = relative(source.nativeDir, absolute);
    const { size, mode } = lstatSync(absolute);
    files.push({ path, size, mode: path.startsWith(`bin${sep}`) || mode & 0o111 ? 0o755 : 0o644 });
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const links = await readLinks(source.nativeDir);
  const hash = createHash('sha256').update(JSON.stringify({ files, links })).digest('hex').slice(0, 12);
  return { key: `${source.packageVersion}-${hash}`, files, links };
}

async function readLinks(nativeDir: string): Promise<Manifest['links']> {
  const text = await readFile(join(nativeDir, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  // Paths in the list start with "native/".
  return (JSON.parse(text) as { source: string; target: string }[]).map((link) => ({
    path: relative('native', link.target),
    target: relative(dirname(link.target), link.source),
  }));
}

async function installInto(target: string, nativeDir: string, manifest: Manifest): Promise<void> {
  const exists = await lstat(target).then(
    () => true,
    () => false,
  );
  if (exists) {
    await ensurePrivateFolder(target);
    await copyMissing(target, nativeDir, manifest);
    return;
  }
  await removeAbandoned(dirname(target));
  const staging = join(dirname(target), `partial-${randomUUID()}`);
  try {
    await ensurePrivateFolder(staging);
    await copyMissing(staging, nativeDir, manifest);
    await rename(staging, target);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    // Another process finished the same copy first.
    if (!['EEXIST', 'ENOTEMPTY', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await ensurePrivateFolder(target);
  }
}

/** Also repairs a copy from which a temp cleaner removed files. */
async function copyMissing(target: string, nativeDir: string, manifest: Manifest): Promise<void> {
  const folders = new Set<string>();
  for (const file of manifest.files) {
    const path = join(target, file.path);
    const present = lstatSync(path, { throwIfNoEntry: false });
    if (present?.isFile() && present.size === file.size && (present.mode & 0o777) === file.mode) continue;
    await ensureFolders(target, dirname(file.path), folders);
    const draft = `${path}.${randomUUID()}`;
    await copyFile(join(nativeDir, file.path), draft, constants.COPYFILE_FICLONE);
    await chmod(draft, file.mode);
    await rename(draft, path);
  }
  for (const link of manifest.links) {
    await symlink(link.target, join(target, link.path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function ensureFolders(target: string, path: string, done: Set<string>): Promise<void> {
  if (path === '.' || done.has(path)) return;
  await ensureFolders(target, dirname(path), done);
  await mkdir(join(target, path), { recursive: true });
  // The umask may have cleared the x bit that the server's user needs.
  await chmod(join(target, path), 0o755);
  done.add(path);
}

async function removeAbandoned(cacheRoot: string): Promise<void> {
  const anHourAgo = Date.now() - 3_600_000;
  for (const name of await readdir(cacheRoot)) {
    if (!name.startsWith('partial-')) continue;
    const stats = await lstat(join(cacheRoot, name)).catch(() => null);
    if (stats !== null && stats.mtimeMs < anHourAgo) {
      await rm(join(cacheRoot, name), { recursive: true, force: true });
    }
  }
}

/** Excludes inherited variables that could affect PostgreSQL: PGDATA, PGOPTIONS, a locale, another library path. */
function serverEnvironment(libDir: string): NodeJS.ProcessEnv {
  if (process.platform === 'win32') return { ...process.env, LC_ALL: 'C' };
  const libraryPath = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', [libraryPath]: libDir };
}
