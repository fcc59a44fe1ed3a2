// Lets one process at a time start or stop the server of a folder, or take or leave ownership of the folder. The
// folder lock is held for as long as its owner lives. This lock is held only during a start or stop, because a
// process that does not own the folder may restart a server that died.
import { setTimeout as delay } from 'node:timers/promises';
import { type DataFolder, folderInvalid } from './data-folder.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { acquireFolderLock } from './folder-lock.ts';

const LOOK_EVERY_MS = 50;

export async function withLaunchLock<T>(
  folder: DataFolder,
  deadlineMs: number,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const outcome = await acquireFolderLock(folder.launchLockDir).catch((cause: unknown) => {
      throw folderInvalid(folder.root, cause);
    });
    if ('lock' in outcome) {
      try {
        return await work();
      } finally {
        await outcome.lock.release();
      }
    }
    if (Date.now() > deadlineMs) {
      throw new EmbeddedPostgresError(
        'EMBEDDED_POSTGRES_START_FAILED',
        `expected process ${outcome.heldBy.pid} to finish starting or stopping PostgreSQL in ${folder.root}, but it did not in time`,
        `Read ${folder.logFile}, or stop process ${outcome.heldBy.pid}.`,
      );
    }
    await delay(LOOK_EVERY_MS);
  }
}
