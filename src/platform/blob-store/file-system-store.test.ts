import { execFile, spawnSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  rmdir,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { inChunks, testBlobStore } from '../../../test/support/blob-store-contract.ts';
import { childFile, killAll, startChild } from '../../../test/support/child-process.ts';
import type { BlobStore } from './blob-store.ts';
import { FileSystemStore } from './file-system-store.ts';

const CHILD = fileURLToPath(new URL('../../../test/support/blob-store-child.ts', import.meta.url));
const [CHILD_FILE, LOADER] = childFile(CHILD);
const NODE = [process.execPath, ...LOADER, CHILD_FILE].map((part) => `"${part}"`).join(' ');
const MIB = 1024 * 1024;
const onLinux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;

let root: string;
let folder: string;
let store: BlobStore;
let opened = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rowmill-test-'));
});
beforeEach(() => {
  opened += 1;
  folder = join(root, `store-${opened}`);
  store = new FileSystemStore(folder);
});
afterEach(killAll);
afterAll(() => rm(root, { recursive: true, force: true }));

testBlobStore('the file system', async () => store);

const putText = (key: string, text = 'text') => store.put(key, inChunks(Buffer.from(text)));
async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of store.list('')) found.push(key);
  return found;
}

describe('a folder as blob store', () => {
  it.skipIf(process.platform === 'win32')('is closed to everyone but its owner', async () => {
    await putText('outputs/j/a');
    for (const [path, mode] of [
      ['', 0o700],
      ['.staging', 0o700],
      ['outputs', 0o700],
      ['outputs/j', 0o700],
      ['outputs/j/a', 0o600],
    ] as const) {
      expect((await stat(join(folder, path))).mode & 0o777).toBe(mode);
    }
  });

  it('has no empty folders after its blobs were deleted', async () => {
    await putText('outputs/j/g1/a');
    await putText('outputs/k');
    await store.delete('outputs/j/g1/a');
    expect(await readdir(join(folder, 'outputs'))).toEqual(['k']);
    await store.delete('outputs/k');
    expect(await readdir(folder)).toEqual(['.staging']);
  });

  it('recreates a folder that was removed as empty before the blob was moved into it', async () => {
    let writing = true;
    const removing = (async () => {
      while (writing)
        for (const path of ['outputs/j', 'outputs']) await rmdir(join(folder, path)).catch(() => {});
    })();
    for (let i = 0; i < 200; i += 1) {
      await putText('outputs/j/a');
      await store.delete('outputs/j/a');
    }
    writing = false;
    await removing;
    expect(await readdir(join(folder, '.staging'))).toEqual([]);
  });

  it('does not list files of other programs', async () => {
    await putText('files/a');
    await writeFile(join(folder, 'files', '.DS_Store'), '');
    await writeFile(join(folder, 'a file of someone.txt'), '');
    await mkdir(join(folder, 'lost+found'));
    expect(await keys()).toEqual(['files/a']);
  });

  it('detects a flipped bit on disk', async () => {
    const blob = await putText('files/a', 'text');
    await writeFile(join(folder, 'files/a'), 'teyt');
    await expect(store.verify(blob)).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
  });

  it('detects a file that is truncated while it is read', async () => {
    await store.put('files/a', inChunks(Buffer.alloc(2 * MIB)));
    const stream = await store.get('files/a');
    await truncate(join(folder, 'files/a'), 100);
    await expect(stream.toArray()).rejects.toMatchObject({ code: 'BLOB_CORRUPT' });
  });

  it('closes the files it reads', async () => {
    if (!onLinux) return;
    await putText('files/a');
    const openFiles = async () => (await readdir('/proc/self/fd')).length;
    await (await store.get('files/a')).toArray();
    const before = await openFiles();
    for (let i = 0; i < 20; i += 1) {
      (await store.get('files/a')).destroy();
      await (await store.get('files/a')).toArray();
      await (await store.get('files/a', { start: 9 })).toArray();
      await store.withLocalFile('files/a', (path) => readFile(path));
      await store.get('files').catch(() => {});
    }
    await expect.poll(openFiles).toBeLessThanOrEqual(before);
  });

  it('removes only staging files that were not written recently', async () => {
    await putText('files/a');
    const hourAgo = new Date(Date.now() - 3_600_000);
    for (const name of ['old', 'new']) await writeFile(join(folder, '.staging', name), name);
    await utimes(join(folder, '.staging/old'), hourAgo, hourAgo);
    await utimes(join(folder, 'files/a'), hourAgo, hourAgo);
    expect(await store.collectLeftovers(1_800_000)).toBe(1);
    expect(await readdir(join(folder, '.staging'))).toEqual(['new']);
    expect(await keys()).toEqual(['files/a']);
  });

  it('collects nothing and lists nothing before it exists', async () => {
    expect(await store.collectLeftovers(0)).toBe(0);
    expect(await keys()).toEqual([]);
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a folder that cannot be used', () => {
  it('is named in the error when a file has its path', async () => {
    await writeFile(folder, '');
    await expect(putText('a')).rejects.toMatchObject({
      code: 'BLOB_STORE_UNAVAILABLE',
      message: expect.stringContaining(folder),
    });
  });

  it('destroys a source stream that it could not start to read', async () => {
    await writeFile(folder, '');
    const source = new PassThrough();
    await expect(store.put('a', source)).rejects.toMatchObject({ code: 'BLOB_STORE_UNAVAILABLE' });
    expect(source.destroyed).toBe(true);
  });

  it.skipIf(isRoot)('is named in the error without permission to read or write', async () => {
    await putText('files/a');
    await chmod(folder, 0o500);
    await chmod(join(folder, 'files/a'), 0);
    const refusal = { code: 'BLOB_STORE_UNAVAILABLE', message: expect.stringContaining(`${folder}/`) };
    await expect(putText('b')).rejects.toMatchObject(refusal);
    await expect(store.get('files/a')).rejects.toMatchObject(refusal);
    await chmod(folder, 0o700);
  });

  it.skipIf(!onLinux)('is left clean when a file exceeds the size limit of the system', async () => {
    const output = await runChild(`ulimit -f 1024 && exec ${NODE} endless "$1"`);
    expect(output).toMatch(
      /"BLOB_STORE_UNAVAILABLE".*\.staging\/.* to be usable by the blob store, got EFBIG/,
    );
    expect(await readdir(join(folder, '.staging'))).toEqual([]);
    expect(await keys()).toEqual([]);
  });

  it.skipIf(!canMount())('is left clean when the disk is full', async () => {
    await mkdir(folder);
    const output = await runChild(
      `exec unshare -rm sh -c 'mount -t tmpfs -o size=2m tmpfs "$1" && ${NODE} endless "$1"; find "$1" -type f' sh "$1"`,
    );
    expect(output).toMatch(/"BLOB_STORE_UNAVAILABLE".*got ENOSPC/);
    expect(output.trimEnd().split('\n')).toHaveLength(1);
  });

  it('shows nothing of a write whose process was killed, and collects its leftovers', async () => {
    const child = startChild({ script: CHILD, args: ['endless', folder] });
    await child.waitFor('writing');
    child.kill('SIGKILL');
    await child.exited;
    expect(await keys()).toEqual([]);
    expect(await store.head('outputs/a')).toBeNull();
    expect(await readdir(join(folder, '.staging'))).toHaveLength(1);
    expect(await store.collectLeftovers(3_600_000)).toBe(0);
    expect(await store.collectLeftovers(-1000)).toBe(1);
    expect(await readdir(join(folder, '.staging'))).toEqual([]);
  });
});

/** Runs a shell script with the folder as its argument, and returns its output. */
async function runChild(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', script, 'sh', folder]);
  return stdout;
}

function canMount(): boolean {
  return spawnSync('sh', ['-c', 'unshare -rm mount -t tmpfs tmpfs "$1"', 'sh', tmpdir()]).status === 0;
}
