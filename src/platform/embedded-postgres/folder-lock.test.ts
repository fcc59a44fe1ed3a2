import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { compiledFile } from '../compiled-file.ts';
import { acquireFolderLock, type FolderLock } from './folder-lock.ts';
import { identifyProcess, processSpace } from './process-identity.ts';

let base: string;
let lockDir: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'rowmill-lock-test-'));
  lockDir = join(base, 'lock');
});

afterEach(() => rm(base, { recursive: true, force: true }));

async function take(): Promise<FolderLock> {
  const outcome = await acquireFolderLock(lockDir);
  if ('heldBy' in outcome) throw new Error(`held by ${outcome.heldBy.pid}`);
  return outcome.lock;
}

test('a held lock names its holder, and a released lock can be acquired again', async () => {
  const lock = await take();
  expect(await acquireFolderLock(lockDir)).toEqual({
    heldBy: { ...identifyProcess(process.pid), elsewhere: false },
  });
  await lock.release();
  await (await take()).release();
});

test('a lock of a dead process, of a reused pid or torn by a power failure is taken over', async () => {
  await (await take()).release();
  const space = processSpace();
  const stale = [
    JSON.stringify({ pid: 2 ** 30, startedAt: null, space, released: false }),
    JSON.stringify({ pid: process.pid, startedAt: 'earlier', space, released: false }),
    '',
  ];
  for (const [index, content] of stale.entries()) {
    await writeFile(join(lockDir, String(10 * (index + 1))), content);
    await (await take()).release();
  }
});

test('an owner in another container counts as alive while it touches its entry, and not after', async () => {
  await (await take()).release();
  const entry = join(lockDir, '10');
  await writeFile(entry, JSON.stringify({ pid: 1, startedAt: null, space: 'another', released: false }));
  let touched = Promise.resolve();
  const touching = setInterval(() => {
    touched = touched.then(() => utimes(entry, new Date(), new Date()));
  }, 20);
  expect(await acquireFolderLock(lockDir, 5_000)).toEqual({
    heldBy: { pid: 1, startedAt: null, elsewhere: true },
  });
  clearInterval(touching);
  await touched;
  expect(await acquireFolderLock(lockDir, 200)).toHaveProperty('lock');

  // After a reboot the entry is old, and taking over does not wait.
  const old = join(lockDir, '20');
  await writeFile(old, JSON.stringify({ pid: 1, startedAt: null, space: 'another', released: false }));
  await utimes(old, 0, 0);
  expect(await acquireFolderLock(lockDir, 1e9)).toHaveProperty('lock');
});

test('entries do not accumulate', async () => {
  for (let round = 0; round < 20; round += 1) await (await take()).release();
  expect((await readdir(lockDir)).length).toBeLessThanOrEqual(2);
});

test('processes that acquire, abandon and release a lock at full speed never hold it at the same time', async () => {
  const rounds = 40;
  const script = join(base, 'contend.mjs');
  const module = compiledFile(import.meta.url, 'folder-lock.js');
  // The holder proves itself with a file that only one process can create. Every other time the lock is left as a
  // killed process would leave it, so that the successors race to take it over.
  await writeFile(
    script,
    `import { readdir, unlink, writeFile } from 'node:fs/promises';
     import { acquireFolderLock } from ${JSON.stringify(module)};
     const lockDir = ${JSON.stringify(lockDir)};
     for (let round = 0; round < ${rounds}; ) {
       const outcome = await acquireFolderLock(lockDir);
       if ('heldBy' in outcome) continue;
       await writeFile(${JSON.stringify(join(base, 'critical'))}, '', { flag: 'wx' });
       await unlink(${JSON.stringify(join(base, 'critical'))});
       round += 1;
       if (round % 2 === 0) {
         await outcome.lock.release();
       } else {
         const mine = Math.max(...(await readdir(lockDir)).filter((name) => /^\\d+$/.test(name)).map(Number));
         await writeFile(lockDir + '/' + mine, JSON.stringify({ pid: 2 ** 30, startedAt: null, space: ${JSON.stringify(processSpace())}, released: false }));
       }
     }`,
  );
  const outcomes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const child = spawn(process.execPath, [script]);
      const [[exitCode], errors] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
      return { exitCode: exitCode as number, errors };
    }),
  );
  expect(outcomes).toEqual(outcomes.map(() => ({ exitCode: 0, errors: '' })));
});
