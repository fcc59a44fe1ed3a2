// rowmill backup and restore on a real embedded server: what comes back is what was there, and nothing half done looks
// whole.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeArchive } from '../../src/platform/backup/backup-archive.ts';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { LIBRARY } from '../support/built-program.ts';
import { type EndedCommand, runCommand, startCommand } from '../support/run-command.ts';

let folder: string;

const rowmill = (...args: string[]): Promise<EndedCommand> => runCommand({ folder }, args);
const json = async (...args: string[]): Promise<unknown> => {
  const { stdout, stderr } = await rowmill(...args, '--json');
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-backup-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline } from '${LIBRARY}';
     export const echo = definePipeline({ name: 'echo', phases: [{ name: 'only', run: (row) => row }] });`,
  );
  writeFileSync(join(folder, 'rows.csv'), 'name,price\na,1\nb,2\nc,3\n');
  expect(await rowmill('run', 'pipeline.ts', 'rows.csv')).toMatchObject({ code: 0 });
  // A name that does not fit into the first header of tar, and enough bytes to be killed between them.
  const deep = join(folder, '.rowmill', 'blobs', 'x'.repeat(60), 'y'.repeat(60));
  mkdirSync(deep, { recursive: true });
  writeFileSync(join(deep, 'large'), randomBytes(16 * 1024 * 1024));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a restored folder has the jobs, the results and the files, and the doctor finds nothing', async () => {
  const before = await json('jobs', 'list');
  const made = (await json('backup', 'whole.tar.gz')) as { files: number };
  const listed = execFileSync('tar', ['-tzf', join(folder, 'whole.tar.gz')], { encoding: 'utf8' }).split(
    '\n',
  );
  expect(listed.filter((path) => path !== '' && !path.endsWith('/'))).toHaveLength(made.files + 2);
  expect([listed[0], listed.at(-2)]).toEqual(['rowmill-backup.json', 'manifest.json']);

  expect(await json('restore', 'whole.tar.gz', '--data-dir', 'again')).toMatchObject({ files: made.files });
  expect(readdirSync(folder).filter((name) => /partial|restoring/.test(name))).toEqual([]);
  const doctor = await rowmill('doctor', '--data-dir', 'again');
  expect(doctor.stdout).not.toMatch(/^(BROKEN|UNKNOWN)/m);
  expect(doctor.code).toBe(0);
  expect(await json('jobs', 'list', '--data-dir', 'again')).toEqual(before);
  const large = join('blobs', 'x'.repeat(60), 'y'.repeat(60), 'large');
  expect(
    readFileSync(join(folder, 'again', large)).equals(readFileSync(join(folder, '.rowmill', large))),
  ).toBe(true);

  const taken = await rowmill('restore', 'whole.tar.gz', '--data-dir', 'again');
  expect(taken.code).toBe(1);
  expect(taken.stderr).toContain(`expected ${join(folder, 'again')} to be empty or missing`);
  expect((await rowmill('backup', 'whole.tar.gz')).stderr).toContain('whole.tar.gz not to exist yet');
});

test('an archive that is cut off, changed, foreign or of another version restores nothing', async () => {
  const about = { format: 1, rowmill: '0.1.0', createdAt: '', hasBlobs: true };
  const version = { from: join(folder, 'rows.csv'), path: 'pgdata/PG_VERSION' };
  await writeArchive(join(folder, 'old.tar.gz'), { ...about, postgresMajor: '17' }, [version]);
  const current = { ...about, postgresMajor: '18' };
  const large = { from: fileURLToPath(import.meta.url), path: 'blobs/large' };
  await writeArchive(join(folder, 'small.tar.gz'), current, [version, large]);
  const whole = readFileSync(join(folder, 'small.tar.gz'));
  writeFileSync(join(folder, 'cut.tar.gz'), whole.subarray(0, whole.length - 200));
  const changed = Buffer.from(whole);
  changed[Math.floor(whole.length / 2)]! ^= 1;
  writeFileSync(join(folder, 'changed.tar.gz'), changed);
  const outside = { ...version, path: 'pgdata/../../escaped' };
  await writeArchive(join(folder, 'foreign.tar.gz'), current, [outside]);
  const said: Record<string, string> = {};
  for (const name of ['cut', 'changed', 'old', 'foreign', 'missing']) {
    const { code, stderr } = await rowmill('restore', `${name}.tar.gz`, '--data-dir', 'nothing');
    expect(code).toBe(1);
    said[name] = stderr.split('\n')[0]!;
  }
  expect(said.cut).toContain('is not a complete backup');
  expect(said.changed).toContain('is not a complete backup');
  expect(said.old).toContain('got one of PostgreSQL 17');
  expect(said.foreign).toContain('unexpected path');
  expect(said.missing).toContain('cannot read');
  expect(readdirSync(folder).filter((name) => /nothing|restoring|escaped/.test(name))).toEqual([]);
});

test('a tampered archive does not match its manifest', async () => {
  const tampered = join(folder, 'tampered');
  mkdirSync(tampered);
  execFileSync('tar', ['-xzf', join(folder, 'small.tar.gz'), '-C', tampered]);
  writeFileSync(join(tampered, 'pgdata', 'PG_VERSION'), 'name,price\na,1\nb,2\nc,4\n');
  const names = ['rowmill-backup.json', 'pgdata/PG_VERSION', 'blobs/large', 'manifest.json'];
  const options = ['--format=ustar', '-C', tampered, ...names];
  execFileSync('tar', ['-czf', join(folder, 'tampered.tar.gz'), ...options]);
  const { stderr } = await rowmill('restore', 'tampered.tar.gz', '--data-dir', 'nothing');
  expect(stderr).toContain('its content does not match its manifest');
  expect(existsSync(join(folder, 'nothing'))).toBe(false);
});

test('a backup that is killed leaves no archive, and the next one works', async () => {
  const { child, ended } = startCommand({ folder }, ['backup', 'killed.tar.gz']);
  await new Promise<void>((resolve) => {
    const watcher = watch(folder, (_, name) => {
      if (!name?.startsWith('killed.tar.gz.partial')) return;
      watcher.close();
      child.kill('SIGKILL');
      resolve();
    });
  });
  await ended;
  expect(existsSync(join(folder, 'killed.tar.gz'))).toBe(false);
  expect(await rowmill('backup', 'killed.tar.gz')).toMatchObject({ code: 0 });
});

test('a running server is not backed up, and a server of your own is refused', async () => {
  const server = await startEmbeddedPostgres({ dataDir: join(folder, '.rowmill') });
  try {
    const { code, stderr } = await rowmill('backup', 'running.tar.gz');
    expect(code).toBe(1);
    expect(stderr).toContain(`Stop process ${process.pid} first`);
  } finally {
    await server.stop();
  }
  const own = await runCommand({ folder, databaseUrl: 'postgres://nowhere/x' }, ['backup', 'own.tar.gz']);
  expect(own.stderr).toContain('pg_dump');
  expect(readdirSync(folder).filter((name) => /running|own/.test(name))).toEqual([]);
});
