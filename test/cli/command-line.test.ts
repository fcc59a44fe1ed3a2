// The command line in a folder of its own, against a real database.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { LIBRARY, MAIN } from '../support/built-program.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-cli-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline, notFound, skip } from '${LIBRARY}';
     interface Row { name: string; n: string }
     export const lengths = definePipeline({ name: 'lengths', phases: [
       { name: 'measure', run: async (row) => {
         const { name, n } = row as unknown as Row;
         if (n === '3') return notFound();
         if (n === '4') return skip('four');
         if (n === '5') throw new Error('five is broken');
         if (n === 'exit') process.exit(1);
         return { length: name.length };
       } } ] });`,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function rowmill(
  args: string[],
  environment: Record<string, string> = { DATABASE_URL: database.url },
): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { ...bareEnvironment(), ...environment },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}

function writeRows(name: string, rows: string[]): void {
  writeFileSync(join(folder, name), `name,n\n${rows.join('\n')}\n`);
}

test('an output file with an unsupported extension is refused before anything runs', async () => {
  writeRows('named.csv', ['row 0,0']);
  for (const out of ['named.json', '-']) {
    const { code, stderr } = await rowmill(['run', 'pipeline.ts', 'named.csv', '--out', out]);
    expect(code).toBe(1);
    expect(stderr).toContain('EXPORT_INVALID');
  }
  expect(await database.query(`select from jobs where name = 'named.csv'`)).toEqual([]);
});

test('run reads a file, shows the summary and writes the results in row order', async () => {
  writeRows(
    'rows.csv',
    Array.from({ length: 10 }, (_, n) => `row ${n},${n}`),
  );
  const { code, stdout, stderr } = await rowmill([
    'run',
    'pipeline.ts',
    'rows.csv',
    '--follow',
    '--out',
    'out/results.csv',
  ]);
  expect(stderr).toContain('Job ');
  expect(stdout).toContain('10 of 10 rows');
  expect(stdout).toContain('five is broken');
  expect(stderr).toMatch(/^1 row failed\. List the errors with: rowmill jobs errors [0-9a-f-]{36}$/m);
  expect(code).toBe(3);
  const rows = parse(readFileSync(join(folder, 'out/results.csv')), { columns: true }) as Record<
    string,
    string
  >[];
  expect(rows.map((row) => row.status)).toEqual([
    ...['DONE', 'DONE', 'DONE', 'NOT_FOUND', 'SKIPPED', 'ERROR', 'DONE', 'DONE', 'DONE', 'DONE'],
  ]);
  expect(rows[9]).toMatchObject({ name: 'row 9', length: '5' });
});

test('a row that exits the process fails alone, and the run continues', async () => {
  writeRows('poison.csv', [...Array.from({ length: 20 }, (_, n) => `row ${n},${n + 100}`), 'poison,exit']);
  const { code, stdout, stderr } = await rowmill([
    'run',
    'pipeline.ts',
    'poison.csv',
    '--out',
    'poison-results.jsonl',
  ]);
  expect(code).toBe(3);
  expect(stdout).toContain('the worker process crashed or stalled 3 times');
  // The process that saw the worker die takes its rows back, and logs it.
  expect(stderr).toMatch(/"level":40.*"workerId":"[^"]+","items":\d+,"failed":1,"msg":"lease rescued"/);
  expect(stderr).not.toContain('"level":30');
  const lines = readFileSync(join(folder, 'poison-results.jsonl'), 'utf8').trim().split('\n');
  const statuses = lines.map((line) => JSON.parse(line).status);
  expect(statuses.filter((status) => status === 'DONE')).toHaveLength(20);
  expect(statuses.at(-1)).toBe('ERROR');
});

test('status lists jobs and shows one by the first characters of its id', async () => {
  const all = JSON.parse((await rowmill(['status', '--json'])).stdout);
  expect(all.length).toBeGreaterThan(0);
  const one = JSON.parse((await rowmill(['status', all[0].jobId.slice(0, 8), '--json'])).stdout);
  expect(one.jobId).toBe(all[0].jobId);
  expect((await rowmill(['status'])).stdout).toContain(all[0].jobId.slice(0, 8));
});

test('doctor succeeds on a healthy database and fails on a broken one', async () => {
  const [{ jobId }] = JSON.parse((await rowmill(['status', '--json'])).stdout);
  // Without a job, the check would also look at the test server, whose settings are not those of a healthy one.
  const healthy = await rowmill(['doctor', '--job', jobId, '--json']);
  expect(healthy.code).toBe(0);
  expect(JSON.parse(healthy.stdout).ok).toBe(true);
  await database.query(`update ledger set done = done + 1`);
  const broken = await rowmill(['doctor', '--job', jobId]);
  expect(broken.code).toBe(1);
  expect(broken.stdout).toMatch(/^Target: postgres.*, files in folder .*blobs\n/);
  expect(broken.stdout).toContain('BROKEN   truth');
  await database.query(`update ledger set done = done - 1`);
});

test.each([
  ['a missing file', ['run', 'pipeline.ts', 'nothing.csv'], 'there is no file nothing.csv'],
  ['a missing pipeline', ['run', 'nothing.ts', 'rows.csv'], 'there is no file nothing.ts'],
  ['an unknown job', ['status', 'ffffffff'], 'there is no job ffffffff'],
  [
    'an unknown setting',
    ['run', 'pipeline.ts', 'rows.csv', '--set', 'claimMaxx=3'],
    'did you mean claimMax?',
  ],
])('%s is reported in one line with exit code 1', async (_, args, message) => {
  const { code, stderr } = await rowmill(args);
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain('    at ');
});

test('a row with too few columns is rejected and can be exported, and the rest runs', async () => {
  writeRows('ragged.csv', ['a,1', 'b', 'c,3']);
  const { code, stderr } = await rowmill(['run', 'pipeline.ts', 'ragged.csv']);
  expect(stderr).toContain('ragged.csv: csv, utf-8, delimiter ",", header on line 1');
  expect(stderr).toContain('3 rows read: 1 rejected');
  expect(code).toBe(0);
  const [job] = await database.query<{ job_id: string }>(`select job_id from jobs where name = 'ragged.csv'`);
  const exported = await rowmill(['export', job!.job_id, '--rejected', '--out', 'rejected.csv']);
  expect(exported.stdout).toContain('1 row written');
  expect(readFileSync(join(folder, 'rejected.csv'), 'utf8')).toMatch(
    /^line,reason,raw\n3,.*expected 2 cells, got 1.*,b\n$/,
  );
});

test('the same file is the same job, unless --again asks for a new one', async () => {
  const file = `${newId()}.csv`;
  writeRows(file, ['a,1', `${file},2`]);
  await rowmill(['run', 'pipeline.ts', file]);
  const again = await rowmill(['run', 'pipeline.ts', file, '--out', 'twice-out.jsonl']);
  expect(again.stderr).toContain('was submitted before, and its job is finished: no row runs.');
  expect(again.stdout).toContain('2 rows written');
  await rowmill(['run', 'pipeline.ts', file, '--again']);
  expect(await database.query('select 1 from jobs where name = $1', [file])).toHaveLength(2);
});

test('inspect shows a file without storing anything', async () => {
  writeFileSync(join(folder, 'look.csv'), 'Report of May\n\nName;N\nJörg;1\nAnn;2\n', 'latin1');
  const { code, stdout } = await rowmill(['inspect', 'look.csv']);
  expect(code).toBe(0);
  expect(stdout).toContain('delimiter ";"');
  expect(stdout).toContain('header on line 3');
  expect(stdout).toContain('Before the header: Report of May');
  expect(stdout).toContain('Jörg | 1');
  const stated = await rowmill(['inspect', 'look.csv', '--delimiter', ',', '--skip-lines', '2', '--json']);
  expect(JSON.parse(stated.stdout)).toMatchObject({ columns: [{ key: 'Name;N' }] });
  expect((await rowmill(['inspect', 'look.csv', '--quote', 'xx'])).stderr).toContain('FILE_OPTION_INVALID');
});

test('inspect with a pipeline lists fields without a column and counts the rows that its input refuses', async () => {
  const zod = import.meta.resolve('zod');
  writeFileSync(
    join(folder, 'checked.mjs'),
    `import { z } from '${zod}';
     import { definePipeline } from '${LIBRARY}';
     export const checked = definePipeline({
       name: 'checked',
       input: z.object({ street: z.string(), n: z.coerce.number(), note: z.string().optional() }),
       phases: [{ name: 'run', run: async () => ({}) }],
     });`,
  );
  const rows = Array.from({ length: 1500 }, (_, i) => `Weg ${i};${i % 500 === 7 ? 'none' : i}`);
  writeFileSync(join(folder, 'checked.csv'), `Straße;N\n${rows.join('\n')}\nlost\n`);
  const { code, stdout } = await rowmill(['inspect', 'checked.csv', '--pipeline', 'checked.mjs']);
  expect(code).toBe(0);
  expect(stdout).toContain('Straße → street');
  expect(stdout).toContain('Fields without a column: note');
  expect(stdout).toContain(
    "Checked all 1,501 rows: 3 refused by the pipeline's input, 1 rejected as unreadable",
  );
  expect(stdout).toMatch(/Line 9: n: .*none/);
  const json = await rowmill(['inspect', 'checked.csv', '--pipeline', 'checked.mjs', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({
    unmapped: ['note'],
    checked: { rows: 1501, refused: 3, rejected: 1, wholeFile: true, stoppedBy: null },
  });
});

test.each([
  [['run', 'pipeline.ts', 'none.csv', '--params', '{'], 'expected a JSON object'],
  [['run', 'pipeline.ts', 'none.csv', '--params', '[1]'], 'expected a JSON object'],
  [['run', 'pipeline.ts', 'none.csv', '--budget', '-1'], 'expected a number from 0'],
  [['jobs', '--state', 'RUNNING,FOO'], 'expected one or more of INGESTING, '],
])('%j is wrong usage', async (args, message) => {
  const { code, stderr } = await rowmill(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('an invalid database address is reported with an example', async () => {
  const { code, stderr } = await rowmill(['status', '--database-url', 'foo']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('such as postgres://user@host:5432/name')]);
});

test('an unreachable database is reported in one line', async () => {
  const DATABASE_URL = 'postgres://nobody@127.0.0.1:1/none';
  const { code, stderr } = await rowmill(['status'], { DATABASE_URL, DATABASE_START_WAIT_MS: '0' });
  expect(code).toBe(1);
  expect(stderr).toContain('cannot connect to PostgreSQL');
});

test('without DATABASE_URL the embedded server is used, and shared with a second command', async () => {
  writeRows('few.csv', ['a,1', 'b,2']);
  const first = await rowmill(['run', 'pipeline.ts', 'few.csv'], {});
  expect(first.stderr).toContain('embedded PostgreSQL');
  expect(first.code).toBe(0);
  const listed = JSON.parse((await rowmill(['status', '--json'], {})).stdout);
  expect(listed).toMatchObject([{ state: 'DONE', itemCount: 2 }]);
});
