// Input from pipes, and output paths that are not ordinary files, cannot be written, or are full.
import { execFile, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIBRARY, MAIN } from '../support/built-program.ts';
import { png } from '../support/image-writer.ts';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const CSV = 'n,name\n1,one\n2,two\n';
const RESULTS = 'n,name,twice,status,error,attempts\n1,one,2,DONE,,1\n2,two,4,DONE,,1\n';
let folder: string;
let jobId: string;

const rowmill = (args: string[], input?: string) =>
  runCommand({ folder, databaseUrl: database.url, ...(input !== undefined && { input }) }, args);

const makePipe = (path: string) => execFileSync('sh', ['-c', 'mkfifo "$0"', path]);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-pipes-'));
  writeFileSync(
    join(folder, 'pipeline.mjs'),
    `import { definePipeline } from '${LIBRARY}';
     export const doubles = definePipeline({ name: 'doubles', phases: [
       { name: 'only', run: async (row) => ({ twice: Number(row.n) * 2 }) } ] });`,
  );
  writeFileSync(join(folder, 'rows.csv'), CSV);
  expect((await rowmill(['run', 'pipeline.mjs', 'rows.csv'])).code).toBe(0);
  const [job] = await database.query<{ job_id: string }>('select job_id from jobs');
  jobId = job!.job_id;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('run reads standard input when the file is -', async () => {
  const { code, stderr } = await rowmill(['run', 'pipeline.mjs', '-', '--again', '--out', 'piped.csv'], CSV);
  expect(stderr).toContain('standard input: csv');
  expect(code).toBe(0);
  expect(readFileSync(join(folder, 'piped.csv'), 'utf8')).toBe(RESULTS);
});

test('run reads a named pipe, whose size is unknown', async () => {
  makePipe(join(folder, 'pipe'));
  const running = rowmill(['run', 'pipeline.mjs', 'pipe', '--again', '--out', 'fifo.csv']);
  // Opening blocks until the reader opens the pipe.
  const writer = spawn('sh', ['-c', 'cat rows.csv > pipe'], { cwd: folder });
  const { code, stderr } = await running;
  writer.kill();
  expect(stderr).toContain('pipe: csv');
  expect(code).toBe(0);
  expect(readFileSync(join(folder, 'fifo.csv'), 'utf8')).toBe(RESULTS);
});

test('inspect reads standard input, a named pipe and a folder of images as run does', async () => {
  const piped = await rowmill(['inspect', '-'], CSV);
  expect([piped.code, piped.stderr]).toEqual([0, '']);
  expect(piped.stdout).toContain('1 | one');
  makePipe(join(folder, 'looked'));
  const running = rowmill(['inspect', 'looked', '--json']);
  const writer = spawn('sh', ['-c', 'cat rows.csv > looked'], { cwd: folder });
  const named = await running;
  writer.kill();
  expect(JSON.parse(named.stdout)).toMatchObject({
    detected: { format: 'csv' },
    rows: [{ cells: ['1', 'one'] }, { cells: ['2', 'two'] }],
  });

  mkdirSync(join(folder, 'photos'));
  writeFileSync(join(folder, 'photos', 'a.png'), png(3, 2));
  writeFileSync(join(folder, 'photos', 'notes.txt'), 'not an image');
  const images = await rowmill(['inspect', 'photos', '--json']);
  expect([images.code, images.stderr]).toEqual([0, '']);
  const [image, text] = JSON.parse(images.stdout).rows;
  expect(image).toMatchObject({
    cells: ['a.png', 'png', expect.any(String), '3', '2', expect.stringMatching(/^images\//)],
  });
  expect(text).toMatchObject({ kind: 'rejected', raw: 'notes.txt' });
  writeFileSync(join(folder, 'one.png'), png(5, 4));
  expect((await rowmill(['inspect', 'one.png'])).stdout).toMatch(/one\.png \| png \| \d+ \| 5 \| 4/);

  mkdirSync(join(folder, 'tables'));
  writeFileSync(join(folder, 'tables', 'rows.csv'), CSV);
  expect((await rowmill(['inspect', 'tables'])).stderr).toContain('FILE_UNSUPPORTED');
  expect((await rowmill(['inspect', 'nowhere'])).stderr).toContain('there is no file nowhere');
});

test('a folder is refused as the output file before anything runs', async () => {
  mkdirSync(join(folder, 'out'));
  for (const args of [
    ['export', jobId, '--out', 'out'],
    ['run', 'pipeline.mjs', 'rows.csv', '--again', '--out', 'out'],
  ]) {
    const { code, stderr, stdout } = await rowmill(args);
    expect(stderr).toContain('error: expected --out to name a file, out is a folder [EXPORT_INVALID]');
    expect(stderr).not.toContain('    at ');
    expect(stdout).toBe('');
    expect(code).toBe(1);
  }
  expect(existsSync(join(folder, 'out.part'))).toBe(false);
});

test('without --out the file is named after the input file and replaces none', async () => {
  const first = await rowmill(['jobs', 'export', jobId, '--delimiter', 'tab']);
  expect(first.stderr).toBe('');
  expect(first.stdout).toContain('written to rows-results.csv');
  expect(readFileSync(join(folder, 'rows-results.csv'), 'utf8')).toContain('\tstatus\terror\tattempts\n');
  const second = await rowmill(['jobs', 'export', jobId]);
  expect(second.stderr).toContain('error: rows-results.csv already exists [EXPORT_INVALID]');
  expect(second.code).toBe(1);
});

test('a pipe or a device is refused as the output file and is not replaced', async () => {
  const path = join(folder, 'device');
  makePipe(path);
  const { code, stderr } = await rowmill(['export', jobId, '--out', path]);
  expect(stderr).toContain(`${path} is a device or a pipe [EXPORT_INVALID]`);
  expect(stderr).toContain('--out - writes to standard output');
  expect(code).toBe(1);
  expect(statSync(path).isFIFO()).toBe(true);
});

test.skipIf(process.getuid?.() === 0)(
  'a folder without write permission is refused before anything runs',
  async () => {
    const closed = join(folder, 'closed');
    mkdirSync(closed);
    chmodSync(closed, 0o500);
    const { code, stderr } = await rowmill(['export', jobId, '--out', join(closed, 'deeper', 'results.csv')]);
    expect(stderr).toContain('[EXPORT_NOT_WRITTEN]');
    expect(code).toBe(1);
  },
);

test('a file that cannot be written is reported by name, without a stack', async () => {
  const long = `${'x'.repeat(300)}.csv`;
  const { code, stderr } = await rowmill(['export', jobId, '--out', long]);
  expect(stderr).toContain(`error: cannot write ${long}: ENAMETOOLONG`);
  expect(stderr).toContain('[EXPORT_NOT_WRITTEN]');
  expect(stderr).not.toContain('    at ');
  expect(code).toBe(1);
});

test.skipIf(!existsSync('/dev/full'))(
  'a full disk behind standard output is reported without a stack',
  async () => {
    const script = `"${process.execPath}" "${MAIN}" export ${jobId} --out - > /dev/full`;
    const env = { PATH: process.env.PATH, DATABASE_URL: database.url };
    const stderr = await new Promise<string>((end) =>
      execFile('sh', ['-c', script], { cwd: folder, env }, (_error, _stdout, text) => end(text)),
    );
    expect(stderr).toContain('error: cannot write to standard output: ENOSPC');
    expect(stderr).not.toContain('    at ');
  },
);

test('an unknown status is the same error for every command', async () => {
  for (const args of [
    ['items', jobId, '--status', 'DONE,FOO'],
    ['export', jobId, '--status', 'DONE,FOO', '--out', 'none.csv'],
    ['reprocess', jobId, '--status', 'DONE,FOO'],
  ]) {
    const { code, stderr } = await rowmill(args);
    expect(stderr).toContain('expected a status to be one of PENDING, DONE, ERROR');
    expect(stderr).toContain('got "FOO"');
    expect(code).toBe(1);
  }
});

test('a file together with --resume is refused, not ignored', async () => {
  const { code, stderr } = await rowmill(['run', 'pipeline.mjs', 'rows.csv', '--resume', jobId]);
  expect(stderr).toContain('expected a file or --resume, got both: rows.csv');
  expect(code).toBe(1);
});

test('an unknown log level is wrong usage, not an error of the pipeline', async () => {
  const { code, stderr } = await rowmill(['worker', 'pipeline.mjs', '--log-level', 'loud']);
  expect(stderr).toContain('Allowed choices are debug, info, warn, error, silent');
  expect(code).toBe(2);
});
