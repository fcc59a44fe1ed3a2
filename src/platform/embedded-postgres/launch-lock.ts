// Lets one process at a time start or stop the server of a folder, and come to own or leave the folder. The lock of the
// folder says who owns the server for as long as it lives; this one is held only for a launch or a stop, because a
// process that does not own the folder restarts a server that died.
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
        `expected process ${outcome.heldBy.pid} to be done with starting or stopping PostgreSQL in ${folder.root} by now`,
        `Look into ${folder.logFile}, or stop process ${outcome.heldBy.pid}.`,
      );
    }
    await delay(LOOK_EVERY_MS);
  }
}
