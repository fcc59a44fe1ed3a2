// Removes the temporary folders of this process when it ends, and stops an embedded PostgreSQL in them, even after a
// SIGKILL: another process does it (remove-at-end-child.mjs).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('remove-at-end-child.mjs', import.meta.url));

/** Returns a function that removes the folders now. */
export function removeAtEnd(...folders: string[]): () => Promise<void> {
  // In its own session, so that Ctrl-C and a signal to the process group do not reach it.
  const child = spawn(process.execPath, [CHILD, ...folders], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.unref();
  return async () => {
    const exited = once(child, 'exit');
    // Otherwise this process may end first, without an error and without the rest of its work.
    child.ref();
    child.stdin.end();
    await exited;
  };
}
