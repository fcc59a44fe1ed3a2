// Loads the guard of the test run (loopback-only.mjs) into every process that the run starts. It is copied to a folder
// that any user can read: some tests run programs as another user, who may not read the repository.
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export function guardSockets(): void {
  if (process.env.TEST_REFUSED_SOCKETS) return;
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-test-guard-'));
  const guard = join(folder, 'loopback-only.mjs');
  const refused = join(folder, 'refused');
  copyFileSync(new URL('loopback-only.mjs', import.meta.url), guard);
  writeFileSync(refused, '');
  chmodSync(folder, 0o755);
  chmodSync(guard, 0o644);
  chmodSync(refused, 0o666);
  process.env.TEST_REFUSED_SOCKETS = refused;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${pathToFileURL(guard).href}`.trim();
}

/** At the end of the run: a refused socket fails it, even if the code under test swallowed the error. */
export function checkRefusedSockets(): void {
  const path = process.env.TEST_REFUSED_SOCKETS;
  if (path === undefined) return;
  const refused = readFileSync(path, 'utf8');
  rmSync(join(path, '..'), { recursive: true, force: true });
  if (refused === '') return;
  console.error(`sockets refused by the guard of the tests:\n${refused}`);
  process.exitCode = 1;
}
