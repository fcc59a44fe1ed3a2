// The folder adapter alone: which files it offers and refuses, and where it moves them.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FolderSource } from './folder-source.ts';
import type { SourceAdapter, SourceFile, SourceLook } from './source-adapter.ts';
import type { FolderSourceConfig } from './source-config.ts';

const NEVER = new AbortController().signal;
const LONG_AGO = new Date('2020-01-01T00:00:00Z');
let root: string;
let adapters: SourceAdapter[];
const outsideFolders: string[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowmill-folder-'));
  adapters = [];
});
afterEach(async () => {
  for (const adapter of adapters) await adapter.disconnect();
  for (const folder of [root, ...outsideFolders.splice(0)]) rmSync(folder, { recursive: true, force: true });
});

function open(options: Partial<FolderSourceConfig> = {}, stableMs = 0): SourceAdapter {
  const adapter = new FolderSource(
    { name: 'in', kind: 'folder', pipeline: 'p', path: root, ...options },
    stableMs,
  );
  adapters.push(adapter);
  return adapter;
}

function outsideFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-outside-'));
  outsideFolders.push(folder);
  return folder;
}

function put(name: string, content = name): void {
  writeFileSync(join(root, name), content);
}

function paths(look: SourceLook): string[] {
  return look.offered.map((file) => file.path).sort();
}

async function only(adapter: SourceAdapter): Promise<SourceFile> {
  const { offered } = await adapter.look(NEVER);
  expect(offered).toHaveLength(1);
  return offered[0]!;
}

async function read(adapter: SourceAdapter, file: SourceFile): Promise<string> {
  const opened = await adapter.open(file, NEVER);
  const chunks: Buffer[] = [];
  for await (const chunk of opened.bytes) chunks.push(chunk);
  await opened.close();
  return Buffer.concat(chunks).toString();
}

function inFolder(name: string): string[] {
  return readdirSync(join(root, name));
}

describe('looking', () => {
  it('offers files directly in the root, oldest first, but no folders, dotfiles or unfinished files', async () => {
    for (const name of ['b.csv', 'a.csv', '.hidden', 'x.part', 'x.tmp', 'x.crdownload', '~$book.xlsx'])
      put(name);
    utimesSync(join(root, 'b.csv'), LONG_AGO, LONG_AGO);
    mkdirSync(join(root, 'sub'));
    put('sub/inside.csv');
    const look = await open().look(NEVER);
    expect(look.offered.map((file) => file.path)).toEqual(['b.csv', 'a.csv']);
    expect(look).toMatchObject({ held: [], waiting: [], refused: [] });
  });

  it('searches below the root only with recursive, and at most five folders deep', async () => {
    mkdirSync(join(root, 'a/b/c/d/e/f'), { recursive: true });
    for (const path of ['top.csv', 'a/one.csv', 'a/b/c/d/e/five.csv', 'a/b/c/d/e/f/six.csv']) put(path);
    const look = await open({ recursive: true }).look(NEVER);
    expect(paths(look)).toEqual(['a/b/c/d/e/five.csv', 'a/one.csv', 'top.csv']);
    expect(look.refused).toEqual([{ path: 'a/b/c/d/e/f', reason: 'it is deeper than 5 folders' }]);
  });

  it('refuses links, second names, pipes and sockets, with the reason', async () => {
    const outside = outsideFolder();
    writeFileSync(join(outside, 'secret'), 'secret');
    symlinkSync(join(outside, 'secret'), join(root, 'link.csv'));
    symlinkSync(outside, join(root, 'linked-folder'));
    put('first.csv');
    linkSync(join(root, 'first.csv'), join(root, 'second.csv'));
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(root, 'pipe.csv')]);
    const server = createServer().listen(join(root, 'socket.csv'));
    await new Promise((resolve) => server.once('listening', resolve));
    const look = await open({ recursive: true }).look(NEVER);
    server.close();
    expect(look.offered).toEqual([]);
    expect(Object.fromEntries(look.refused.map(({ path, reason }) => [path, reason]))).toEqual({
      'link.csv': 'it is a symbolic link',
      'linked-folder': 'it is a symbolic link',
      'first.csv': 'it is a hard link: the same file has another name',
      'second.csv': 'it is a hard link: the same file has another name',
      'pipe.csv': 'it is a device, a pipe or a socket',
      'socket.csv': 'it is a device, a pipe or a socket',
    });
  });

  it('refuses a root whose .processing is a link to elsewhere', async () => {
    const outside = outsideFolder();
    symlinkSync(outside, join(root, '.processing'));
    put('a.csv');
    await expect(open().look(NEVER)).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
    expect(readdirSync(outside)).toEqual([]);
    expect(existsSync(join(root, 'a.csv'))).toBe(true);
  });

  it('throws if the folder does not exist', async () => {
    await expect(open({ path: join(root, 'nowhere') }).look(NEVER)).rejects.toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
    });
  });

  it('refuses a name that is not UTF-8 and takes the others', async () => {
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff, 0x2e, 0x63])]), 'x');
    put('good.csv');
    const look = await open().look(NEVER);
    expect(paths(look)).toEqual(['good.csv']);
    expect(look.refused).toMatchObject([{ reason: 'its name is not UTF-8' }]);
  });
});

describe('waiting until a file is written', () => {
  // So long that no file becomes stable between two statements, however slow the machine is.
  const STABLE_MS = 3_600_000;
  let passedMs = 0;
  /** Advances the clock of the adapter, not the times of files, which are those of the file system. */
  const pass = (ms: number) => {
    passedMs += ms;
  };

  beforeEach(() => {
    const now = performance.now.bind(performance);
    passedMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('waits for a file that was just written, and takes it on the second poll', async () => {
    put('a.csv');
    const adapter = open({}, STABLE_MS);
    expect(await adapter.look(NEVER)).toMatchObject({ offered: [], waiting: [expect.any(String)] });
    pass(STABLE_MS);
    expect(paths(await adapter.look(NEVER))).toEqual(['a.csv']);
  });

  it('takes a file immediately if it has not changed for long enough', async () => {
    put('a.csv');
    await new Promise((resolve) => setTimeout(resolve, 220));
    expect(paths(await open({}, 200).look(NEVER))).toEqual(['a.csv']);
  });

  it('does not take a growing file, however often it polls', async () => {
    const adapter = open({}, STABLE_MS);
    for (let i = 1; i <= 4; i += 1) {
      put('a.csv', 'x'.repeat(i));
      expect((await adapter.look(NEVER)).offered).toEqual([]);
      pass(STABLE_MS * 0.8);
    }
  });

  it('waits for a second poll if only the modification time is old: its writer may have set it', async () => {
    put('a.csv');
    utimesSync(join(root, 'a.csv'), LONG_AGO, LONG_AGO);
    const adapter = open({}, STABLE_MS);
    expect((await adapter.look(NEVER)).offered).toEqual([]);
    pass(STABLE_MS);
    expect(paths(await adapter.look(NEVER))).toEqual(['a.csv']);
  });

  it('waits for a second poll if a file was renamed into the folder', async () => {
    put('a.csv.part');
    utimesSync(join(root, 'a.csv.part'), LONG_AGO, LONG_AGO);
    renameSync(join(root, 'a.csv.part'), join(root, 'a.csv'));
    const adapter = open({}, STABLE_MS);
    expect((await adapter.look(NEVER)).offered).toEqual([]);
    pass(STABLE_MS);
    expect(paths(await adapter.look(NEVER))).toEqual(['a.csv']);
  });
});

describe('holding and reading', () => {
  it('moves the file into .processing, reads it, and moves it into .done', async () => {
    put('a.csv', 'x,y\n1,2\n');
    const adapter = open();
    const file = await only(adapter);
    expect(await adapter.hold(file)).toBe(true);
    expect(existsSync(join(root, 'a.csv'))).toBe(false);
    expect(inFolder('.processing')).toEqual([`${file.fileId}-a.csv`]);
    expect(await read(adapter, file)).toBe('x,y\n1,2\n');
    await adapter.settle(file, { state: 'done' });
    expect(inFolder('.processing')).toEqual([]);
    expect(readFileSync(join(root, '.done/a.csv'), 'utf8')).toBe('x,y\n1,2\n');
  });

  it('numbers names that exist, and writes the reason beside a failed file', async () => {
    const adapter = open();
    for (let i = 0; i < 3; i += 1) {
      put('a.b.csv', `version ${i}`);
      const file = await only(adapter);
      await adapter.hold(file);
      await adapter.settle(file, { state: 'failed', reason: `reason ${i}` });
    }
    expect(inFolder('.failed').sort()).toEqual([
      'a.b-2.csv',
      'a.b-2.csv.reason.txt',
      'a.b-3.csv',
      'a.b-3.csv.reason.txt',
      'a.b.csv',
      'a.b.csv.reason.txt',
    ]);
    expect(readFileSync(join(root, '.failed/a.b-3.csv'), 'utf8')).toBe('version 2');
    expect(readFileSync(join(root, '.failed/a.b-3.csv.reason.txt'), 'utf8')).toBe('reason 2\n');
  });

  it('does not hold a file that was replaced after the poll, and leaves the new one in place', async () => {
    put('a.csv', 'old');
    const adapter = open();
    const file = await only(adapter);
    renameSync(join(root, 'a.csv'), join(root, 'moved.csv'));
    put('a.csv', 'new');
    expect(await adapter.hold(file)).toBe(false);
    expect(readFileSync(join(root, 'a.csv'), 'utf8')).toBe('new');
  });

  it('does not hold a file that was replaced by one of the same size and time', async () => {
    put('a.csv', 'old');
    utimesSync(join(root, 'a.csv'), LONG_AGO, LONG_AGO);
    const adapter = open();
    const file = await only(adapter);
    renameSync(join(root, 'a.csv'), join(root, 'moved.csv'));
    put('a.csv', 'new');
    utimesSync(join(root, 'a.csv'), LONG_AGO, LONG_AGO);
    expect(await adapter.hold(file)).toBe(false);
    expect(readFileSync(join(root, 'a.csv'), 'utf8')).toBe('new');
  });

  it('does not hold a file that vanished', async () => {
    put('a.csv');
    const adapter = open();
    const file = await only(adapter);
    rmSync(join(root, 'a.csv'));
    expect(await adapter.hold(file)).toBe(false);
  });

  it('puts back a file that is in .processing under the id of another file', async () => {
    put('a.csv', 'old');
    const adapter = open();
    const file = await only(adapter);
    await adapter.hold(file);
    // A frozen poller renamed the new file of that name much later.
    renameSync(join(root, '.processing', `${file.fileId}-a.csv`), join(root, '.done/a.csv'));
    put('.processing/other', 'new');
    renameSync(join(root, '.processing/other'), join(root, '.processing', `${file.fileId}-a.csv`));
    expect((await adapter.look(NEVER)).held).toEqual([]);
    expect(readFileSync(join(root, 'a.csv'), 'utf8')).toBe('new');
    expect(inFolder('.processing')).toEqual([]);
  });

  it('never follows a link that replaces a held file', async () => {
    const outside = join(outsideFolder(), 'secret');
    writeFileSync(outside, 'secret');
    put('a.csv', 'public');
    const adapter = open();
    const file = await only(adapter);
    await adapter.hold(file);
    const held = join(root, '.processing', `${file.fileId}-a.csv`);
    rmSync(held);
    symlinkSync(outside, held);
    await expect(adapter.open(file, NEVER)).rejects.toMatchObject({ code: 'ELOOP' });
    expect(await adapter.hold(file)).toBe(false);
    expect(readFileSync(outside, 'utf8')).toBe('secret');
  });

  it('never reads from outside while another program swaps the file for a link and back', async () => {
    const outside = join(outsideFolder(), 'secret');
    // Both have the same size, so that only the inode and the kind of file distinguish them.
    writeFileSync(outside, 'secret');
    const adapter = open();
    let refused = 0;
    for (let round = 0; round < 200; round += 1) {
      put('a.csv', 'public');
      const file = await only(adapter);
      const swap = (async () => {
        await new Promise((resolve) => setImmediate(resolve));
        for (let i = 0; i < round % 4; i += 1) await Promise.resolve();
        rmSync(join(root, 'a.csv'), { force: true });
        symlinkSync(outside, join(root, 'a.csv'));
      })();
      if (await adapter.hold(file)) expect(await read(adapter, file)).toBe('public');
      else refused += 1;
      await swap;
      rmSync(join(root, '.processing'), { recursive: true });
      rmSync(join(root, 'a.csv'), { force: true });
      rmSync(join(root, 'a-2.csv'), { force: true });
      await adapter.disconnect();
    }
    expect(refused, 'void: no exchange came in between').toBeGreaterThan(0);
    expect(readFileSync(outside, 'utf8')).toBe('secret');
  });

  it('does not leave the root when a folder below it becomes a link', async () => {
    const outside = outsideFolder();
    writeFileSync(join(outside, 'a.csv'), 'secret');
    mkdirSync(join(root, 'sub'));
    put('sub/a.csv', 'public');
    const adapter = open({ recursive: true });
    const file = await only(adapter);
    rmSync(join(root, 'sub'), { recursive: true });
    symlinkSync(outside, join(root, 'sub'));
    expect(await adapter.hold(file)).toBe(false);
    expect(readdirSync(outside)).toEqual(['a.csv']);
    await adapter.giveBack(file);
    expect(readdirSync(outside)).toEqual(['a.csv']);
  });

  it('puts back a folder that replaced a held file', async () => {
    put('a.csv');
    const adapter = open();
    const file = await only(adapter);
    await adapter.hold(file);
    const held = join(root, '.processing', `${file.fileId}-a.csv`);
    rmSync(held);
    mkdirSync(held);
    put('a.csv', 'new');
    expect(await adapter.hold(file)).toBe(false);
    expect(statSync(join(root, 'a-2.csv')).isDirectory()).toBe(true);
    expect(readFileSync(join(root, 'a.csv'), 'utf8')).toBe('new');
  });

  it('puts a file back under a free name if its name was taken meanwhile', async () => {
    put('a.csv', 'old');
    const adapter = open();
    const file = await only(adapter);
    await adapter.hold(file);
    put('a.csv', 'new');
    await adapter.giveBack(file);
    expect(readFileSync(join(root, 'a.csv'), 'utf8')).toBe('new');
    expect(readFileSync(join(root, 'a-2.csv'), 'utf8')).toBe('old');
    expect(statSync(join(root, 'a-2.csv')).nlink).toBe(1);
  });

  it('completes a move back that a crash interrupted between its two steps', async () => {
    put('a.csv', 'content');
    const adapter = open();
    const file = await only(adapter);
    await adapter.hold(file);
    const held = join(root, '.processing', `${file.fileId}-a.csv`);
    writeFileSync(held, 'changed');
    linkSync(held, join(root, 'a.csv'));
    await adapter.look(NEVER);
    expect(inFolder('.processing')).toEqual([]);
    expect(statSync(join(root, 'a.csv')).nlink).toBe(1);
    expect(paths(await adapter.look(NEVER))).toEqual(['a.csv']);
  });

  it.each(['done', 'failed'] as const)(
    'completes a move to .%s that a crash interrupted between its two steps',
    async (state) => {
      put('a.csv', 'content');
      const adapter = open();
      const file = await only(adapter);
      await adapter.hold(file);
      mkdirSync(join(root, `.${state}`), { recursive: true });
      put(`.${state}/a.csv`, 'of another day');
      linkSync(join(root, '.processing', `${file.fileId}-a.csv`), join(root, `.${state}`, 'a-2.csv'));
      const { held } = await adapter.look(NEVER);
      await adapter.settle(held[0]!, { state, reason: 'why' });
      expect(inFolder('.processing')).toEqual([]);
      expect(
        inFolder(`.${state}`)
          .filter((each) => !each.endsWith('.txt'))
          .sort(),
      ).toEqual(['a-2.csv', 'a.csv']);
      expect(statSync(join(root, `.${state}`, 'a-2.csv')).nlink).toBe(1);
    },
  );
});

describe('names', () => {
  const name = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
    .filter((text) => !/[/\0]/.test(text) && !text.startsWith('.') && text.isWellFormed());

  it('are data: every name that a file system allows stays unchanged', async () => {
    const known = [
      'a\nb.csv',
      'x\\..\\..',
      '%2e%2e%2f',
      'x\r\n',
      '\u001b[31m',
      'ａ.csv',
      "'; drop table jobs; --",
      'a'.repeat(255),
    ];
    await fc.assert(
      fc.asyncProperty(fc.oneof(name, fc.constantFrom(...known)), async (fileName) => {
        if (/\.(part|filepart|tmp|crdownload)$|^~\$/.test(fileName) || Buffer.byteLength(fileName) > 255)
          return;
        put(fileName, 'content');
        const adapter = open();
        const file = await only(adapter);
        expect(file).toMatchObject({ path: fileName, name: fileName });
        expect(await adapter.hold(file)).toBe(true);
        expect((await adapter.look(NEVER)).held.map((held) => held.fileId)).toEqual([file.fileId]);
        await adapter.giveBack(file);
        expect(readdirSync(root).filter((each) => !each.startsWith('.'))).toEqual([fileName]);
        const again = await only(adapter);
        await adapter.hold(again);
        await adapter.settle(again, { state: 'failed', reason: 'r' });
        expect(inFolder('.failed')).toHaveLength(2);
        rmSync(join(root, '.failed'), { recursive: true });
        await adapter.disconnect();
      }),
      { numRuns: 60 },
    );
  });
});

it('lists 10,000 files in a few seconds', async () => {
  for (let i = 0; i < 10_000; i += 1) put(`${i}.csv`, 'x');
  const adapter = open();
  const startedAt = performance.now();
  expect((await adapter.look(NEVER)).offered).toHaveLength(10_000);
  console.log(`10,000 files in ${Math.round(performance.now() - startedAt)} ms`);
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});
