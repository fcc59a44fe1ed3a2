import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { identifyProcess, isRunning } from '../../src/platform/embedded-postgres/process-identity.ts';
import { killAll, startChild } from './child-process.ts';

afterEach(killAll);

const script = new URL('embedded-postgres-child.ts', import.meta.url);

test('a process that removes its folders early waits for that and continues', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-removed-'));
  const child = startChild({ script, args: ['remove', folder] });
  await child.waitFor('removed');
  expect(existsSync(folder)).toBe(false);
  expect(await child.exited).toEqual({ code: 0, signal: null });
});

test('the PostgreSQL server of a process that is killed stops, and its folder is removed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-removed-'));
  const owner = startChild({ script, args: ['own-to-the-end', folder] });
  await owner.waitFor('started');
  const pid = Number(readFileSync(join(folder, 'pgdata', 'postmaster.pid'), 'utf8').split('\n')[0]);
  const postmaster = identifyProcess(pid)!;
  expect(isRunning(postmaster)).toBe(true);
  owner.kill('SIGKILL');
  await expect.poll(() => isRunning(postmaster)).toBe(false);
  await expect.poll(() => existsSync(folder)).toBe(false);
});
