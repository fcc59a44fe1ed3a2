// A lock that lets one live process own a folder. It uses only files, so it works on every platform.
//
//   lock/7   { pid, startedAt, space, released }      the highest number is the current owner
//
// If the highest entry is released or its process is dead, a process takes the next number with link(2), which is
// atomic, fails if the name exists, and makes the entry appear with its full content. A stale entry is deleted only
// after it has a successor; locks that unlink and recreate let two processes in at this point.
//
// Two containers can share a folder without seeing each other's processes. Their PostgreSQL servers could then run at
// the same time and destroy the data. So the owner also touches its entry every second, and an owner that cannot be
// seen counts as alive while its entry is touched.
import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identifyProcess, isRunning, type ProcessIdentity, processSpace } from './process-identity.ts';

interface LockEntry extends ProcessIdentity {
  space: string;
  released: boolean;
}

export interface FolderLock {
  /** False if another process took the lock over because this one looked dead, for example frozen in a container. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

export interface LockHolder extends ProcessIdentity {
  /** In another container or on another machine, so its pid is meaningless here. */
  elsewhere: boolean;
}

export type FolderLockOutcome = { lock: FolderLock } | { heldBy: LockHolder };

const TOUCH_EVERY_MS = 1_000;
// Long enough for an owner whose event loop is blocked by a burst of work.
const WATCH_FOR_MS = 10_000;
// More than the clock difference of two machines. It skips the wait after a reboot, which also looks like another
// machine.
const LONG_UNTOUCHED_MS = 60_000;

export async function acquireFolderLock(
  lockDir: string,
  watchForMs = WATCH_FOR_MS,
): Promise<FolderLockOutcome> {
  await mkdir(lockDir, { recursive: true });
  const identity = identifyProcess(process.pid) ?? { pid: process.pid, startedAt: null };
  const self: LockEntry = { ...identity, space: processSpace(), released: false };

  for (;;) {
    const current = Math.max(0, ...(await listGenerations(lockDir)));
    if (current > 0) {
      const entry = await readEntry(lockDir, current);
      if (entry === 'vanished') continue;
      if (entry !== 'unreadable' && !entry.released) {
        const elsewhere = entry.space !== self.space;
        const alive = elsewhere ? await isTouched(lockDir, current, watchForMs) : isRunning(entry);
        if (alive) return { heldBy: { pid: entry.pid, startedAt: entry.startedAt, elsewhere } };
      }
    }

    const mine = current + 1;
    if (!(await createEntry(lockDir, mine, self))) continue;

    const generations = await listGenerations(lockDir);
    if (Math.max(...generations) > mine) {
      // This process was suspended so long that its number was taken, succeeded and deleted meanwhile.
      await removeFile(join(lockDir, String(mine)));
      continue;
    }
    // Keep the predecessor: a process that read it a moment ago then collides with our number.
    for (const old of generations.filter((generation) => generation < current)) {
      await removeFile(join(lockDir, String(old)));
    }
    return { lock: holdEntry(lockDir, mine, self) };
  }
}

function holdEntry(lockDir: string, generation: number, self: LockEntry): FolderLock {
  const path = join(lockDir, String(generation));
  const timer = setInterval(() => {
    const now = new Date();
    // Fails if the folder was deleted, which is harmless.
    utimes(path, now, now).catch(() => {});
  }, TOUCH_EVERY_MS);
  timer.unref();
  return {
    isHeld: async () => {
      const generations = await listGenerations(lockDir).catch(() => []);
      return Math.max(0, ...generations) === generation;
    },
    release: async () => {
      clearInterval(timer);
      await replaceEntry(lockDir, generation, { ...self, released: true });
    },
  };
}

async function isTouched(lockDir: string, generation: number, watchForMs: number): Promise<boolean> {
  const touchedAt = () =>
    stat(join(lockDir, String(generation))).then(
      (stats) => stats.mtimeMs,
      () => null,
    );
  const before = await touchedAt();
  if (before === null || Date.now() - before > LONG_UNTOUCHED_MS) return false;
  const deadlineMs = Date.now() + watchForMs;
  while (Date.now() < deadlineMs) {
    await delay(Math.min(100, watchForMs / 4));
    const now = await touchedAt();
    // Released or succeeded meanwhile: the caller checks again if our number turns out to be taken.
    if (now === null) return false;
    if (now !== before) return await readEntry(lockDir, generation).then(isUnreleased);
  }
  return false;
}

function isUnreleased(entry: LockEntry | 'vanished' | 'unreadable'): boolean {
  return typeof entry === 'object' && !entry.released;
}

async function listGenerations(lockDir: string): Promise<number[]> {
  return (await readdir(lockDir)).filter((name) => /^\d+$/.test(name)).map(Number);
}

async function readEntry(
  lockDir: string,
  generation: number,
): Promise<LockEntry | 'vanished' | 'unreadable'> {
  let text: string;
  try {
    text = await readFile(join(lockDir, String(generation)), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'vanished';
    throw error;
  }
  try {
    return JSON.parse(text) as LockEntry;
  } catch {
    // Entries appear complete, so only a power failure leaves a torn one, and its owner is dead.
    return 'unreadable';
  }
}

async function createEntry(lockDir: string, generation: number, entry: LockEntry): Promise<boolean> {
  const draft = await writeDraft(lockDir, entry);
  try {
    await link(draft, join(lockDir, String(generation)));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await removeFile(draft);
  }
}

async function replaceEntry(lockDir: string, generation: number, entry: LockEntry): Promise<void> {
  try {
    await rename(await writeDraft(lockDir, entry), join(lockDir, String(generation)));
  } catch (error) {
    // The user deleted the folder meanwhile, so there is nothing to release.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function writeDraft(lockDir: string, entry: LockEntry): Promise<string> {
  const draft = join(lockDir, `draft-${randomUUID()}`);
  await writeFile(draft, JSON.stringify(entry), { flag: 'wx' });
  return draft;
}

async function removeFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
