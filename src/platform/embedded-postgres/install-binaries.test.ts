import { chmod, mkdir, mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installBinaries, type PostgresBinaries } from './install-binaries.ts';
import { resolvePostgresPackage } from './resolve-postgres-package.ts';

let base: string;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'rowmill-binaries-test-'));
});

afterAll(() => rm(base, { recursive: true, force: true }));

function installationOf(binaries: PostgresBinaries): string {
  return dirname(dirname(binaries.postgres));
}

test('concurrent installations share one copy, and a damaged copy is repaired', async () => {
  const source = await resolvePostgresPackage();
  const cache = join(base, 'cache');
  const both = await Promise.all([
    installBinaries(source, [cache], null),
    installBinaries(source, [cache], null),
  ]);
  expect(both[0]).toEqual(both[1]);
  expect(await readdir(cache)).toHaveLength(1);

  const dir = installationOf(both[0]!);
  await rm(join(dir, 'share', 'postgresql', 'postgres.bki'));
  await rm(join(dir, 'lib', 'libpq.so.5'));
  await truncate(join(dir, 'bin', 'initdb'), 0);
  await installBinaries(source, [cache], null);
  expect((await stat(join(dir, 'share', 'postgresql', 'postgres.bki'))).size).toBeGreaterThan(0);
  expect((await stat(join(dir, 'lib', 'libpq.so.5'))).size).toBeGreaterThan(0);
});

test('a cache folder to which another user could write is skipped', async () => {
  const source = await resolvePostgresPackage();
  const open = join(base, 'open');
  await mkdir(open);
  await chmod(open, 0o777);
  const safe = join(base, 'cache');
  const binaries = await installBinaries(source, [open, join(open, 'inside'), safe], null);
  expect(dirname(installationOf(binaries))).toBe(safe);
  await expect(installBinaries(source, [open], null)).rejects.toMatchObject({
    code: 'EMBEDDED_POSTGRES_BINARIES_UNUSABLE',
    message: expect.stringContaining(`expected ${open} to be writable by its owner only`),
  });
});
