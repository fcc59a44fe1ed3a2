// Reruns on the command line.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIBRARY } from '../support/built-program.ts';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-reprocess-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline, fail, notFound } from '${LIBRARY}';
     import { existsSync } from 'node:fs';
     export const shop = definePipeline({ name: 'shop', phases: [{
       name: 'look',
       retry: { not_found: { maxAttempts: 1 } },
       run: (row) => {
         if (row.n === 'x') return fail('no number');
         if (Number(row.n) > 7 && !existsSync('in-stock')) return notFound();
         return { price: Number(row.n) * 2 };
       },
     }] });`,
  );
  const rows = Array.from({ length: 10 }, (_, n) => `${n === 3 ? 'x' : n}\n`).join('');
  writeFileSync(join(folder, 'rows.csv'), `n\n${rows}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rowmill = (...args: string[]) => runCommand({ folder, databaseUrl: database.url }, args);

test('reruns failed rows, then a corrected one, and status shows what changed', async () => {
  const first = await rowmill('run', 'pipeline.ts', 'rows.csv');
  expect(first.code).toBe(3);
  const jobId = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(first.stderr)![0];

  writeFileSync(join(folder, 'in-stock'), '');
  const opened = await rowmill('reprocess', jobId.slice(0, 8));
  expect(opened).toMatchObject({ code: 0, stderr: '' });
  expect(opened.stdout).toContain('run 2: 2 rows waiting to rerun');
  expect(opened.stdout).toContain(`rowmill run '<module of shop>' --resume ${jobId}`);
  const ran = await rowmill('run', 'pipeline.ts', '--resume', jobId, '--out', 'out.csv');
  expect(ran.stderr).toContain('Rerun of 2 rows: 2 fixed, 0 newly failed, 0 newly not found, 0 unchanged');

  const nothing = await rowmill('reprocess', jobId);
  expect(nothing.code).toBe(1);
  expect(nothing.stderr).toContain('1 failures are permanent');
  expect(nothing.stderr).toContain('Add --include-permanent');

  writeFileSync(join(folder, 'edits.jsonl'), '{"row": 4, "input": {"n": "3"}}\n');
  expect((await rowmill('reprocess', jobId, '--edits', 'edits.jsonl', '--json')).stdout).toContain(
    '"selected":1',
  );
  await rowmill('run', 'pipeline.ts', '--resume', jobId, '--out', 'out.csv');
  const csv = readFileSync(join(folder, 'out.csv'), 'utf8').trim().split(/\r?\n/);
  expect(csv.slice(1).map((line) => line.split(',').slice(0, 2).join())).toEqual(
    Array.from({ length: 10 }, (_, n) => `${n},${n * 2}`),
  );
  const status = await rowmill('status', jobId);
  expect(status.stdout).toContain('10 rows, run 3: done 10');
  expect(status.stdout).toContain('Rerun of 1 row: 1 fixed');
});

test.each([
  [['--rows', '5-2'], 'expected rows such as 1-100,251, counted from 1, got 5-2'],
  [['--rows', '0-3'], 'expected rows such as 1-100,251, counted from 1, got 0-3'],
  [['--all', '--status', 'ERROR'], 'expected --all or --status, got both'],
  [['--edits', 'rows.csv'], 'expected line 1 of the edits to be {"row": …, "input": {…}}, got n'],
  [['--edits', 'missing.jsonl'], 'cannot read missing.jsonl'],
  [['--phase', 'elsewhere'], 'expected a phase of job'],
  [['--status', 'FAILED'], 'Failed rows have the status ERROR.'],
  [['--status', 'NOTFOUND'], 'Did you mean NOT_FOUND?'],
])('%j is refused with an explanation', async (options, message) => {
  const { stdout } = await rowmill('status', '--json');
  const [job] = JSON.parse(stdout) as { jobId: string }[];
  const refused = await rowmill('reprocess', job!.jobId, ...options);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(message);
});
