// Keeps the server running until its owner stops it: checks its process once a second, and restarts a dead server on
// the same port. If a process that joined was faster, its server is taken over.
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { backoffMs } from '../../core/retries/backoff.ts';
import type { FolderLock } from './folder-lock.ts';
import { withLaunchLock } from './launch-lock.ts';
import { type LaunchOptions, launchServer, type RunningServer } from './launch-server.ts';
import { isRunning } from './process-identity.ts';
import { findPostmaster } from './server-processes.ts';
import { stopServer } from './stop-server.ts';

const LOOK_EVERY_MS = 1_000;
/** Longest wait between attempts to start a server that cannot start, for example because the disk is full. */
const LONGEST_PAUSE_MS = 60_000;
const LAUNCH_MS = 60_000;

export class ServerKeeper {
  readonly #launch: LaunchOptions;
  readonly #lock: FolderLock;
  #server: RunningServer;
  #isStopping = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(launch: LaunchOptions, server: RunningServer, lock: FolderLock) {
    this.#launch = launch;
    this.#server = server;
    this.#lock = lock;
    this.#lookLater();
  }

  /** Stops the server of the folder, whichever process started it, and releases the folder. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.#round;
    const { folder, binaries } = this.#launch;
    const stopIt = async (): Promise<void> => {
      const running = await findPostmaster(folder.pgdata);
      await stopServer(running?.identity ?? this.#server.postmaster, folder.pgdata, binaries);
      await this.#lock.release();
    };
    // Locking a folder that the user deleted would recreate it.
    if (await this.#hasFolder()) await withLaunchLock(folder, Date.now() + LAUNCH_MS, stopIt);
    else await stopIt();
  }

  #lookLater(): void {
    if (this.#isStopping) return;
    const pauseMs = backoffMs({ firstMs: LOOK_EVERY_MS, capMs: LONGEST_PAUSE_MS }, this.#failures);
    this.#timer = setTimeout(() => {
      this.#round = this.#look().finally(() => this.#lookLater());
    }, pauseMs);
    // The process may exit while it owns a server: the next one takes the server over.
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    if (isRunning(this.#server.postmaster)) return;
    // The user deleted the folder, or another process took it over.
    if (!(await this.#hasFolder()) || !(await this.#lock.isHeld())) return;
    const { folder, onLog } = this.#launch;
    const deadlineMs = Date.now() + LAUNCH_MS;
    onLog(`PostgreSQL (process ${this.#server.postmaster.pid}) exited, restarting it`);
    try {
      this.#server = await withLaunchLock(folder, deadlineMs, () =>
        launchServer({ ...this.#launch, deadlineMs, keepPort: true }),
      );
      this.#failures = 0;
      onLog(`PostgreSQL is ready again on 127.0.0.1:${this.#server.port}`);
    } catch (error) {
      this.#failures += 1;
      onLog(`PostgreSQL could not be restarted: ${(error as Error).message}`);
    }
  }

  #hasFolder(): Promise<boolean> {
    return access(join(this.#launch.folder.pgdata, 'PG_VERSION')).then(
      () => true,
      () => false,
    );
  }
}
