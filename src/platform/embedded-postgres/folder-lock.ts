// Lets one live process at a time own a folder, with files only, so that it works on every platform.
//
//   lock/7   { pid, startedAt, space, released }      the highest number is the current owner
//
// Whoever finds the highest entry released or its process dead takes the next number with link(2), which is atomic,
// refuses an existing name, and makes the entry appear with its full content. Nothing stale is deleted before it is
// succeeded, which is where unlink-and-recreate locks let two processes in.
//
// Two containers can share a folder but not see each other's processes, nor can their PostgreSQL servers, which would
// then destroy the data together. So the owner also touches its entry every second, and an owner out of sight counts
// as alive while the touches go on.
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
  /** False when another process took it over: this one looked dead, frozen in another container for instance. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

export interface LockHolder extends ProcessIdentity {
  /** In another container or on another machine, where its pid means nothing to us. */
  elsewhere: boolean;
}

export type FolderLockOutcome = { lock: FolderLock } | { heldBy: LockHolder };

const TOUCH_EVERY_MS = 1_000;
// Long enough for an owner whose event loop is held up by a burst of work.
const WATCH_FOR_MS = 10_000;
// More than clocks of two machines differ; saves the watching after a reboot, which also looks like another machine.
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
      // We slept so long that our number had been taken, succeeded and deleted in between.
      await removeFile(join(lockDir, String(mine)));
      continue;
    }
    // The predecessor stays as a witness: a starter that read it a moment ago then collides with our number.
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
    // The folder may be gone; then nobody needs the touch.
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
    // Released or succeeded meanwhile: it is looked at afresh when our number turns out to be taken.
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
    // Entries appear complete, so only a power loss leaves a torn one, and its owner is gone with the power.
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
    // The user deleted the folder while we held it: there is nothing left to release.
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
