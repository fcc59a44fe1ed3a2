// Budgets on the command line: run with one, see why the job is paused, raise it, continue.
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
  folder = mkdtempSync(join(tmpdir(), 'rowmill-budget-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline } from '${LIBRARY}';
     export const paid = definePipeline({ name: 'paid', costUnit: 'EUR', phases: [{ name: 'only', cost: 0.5, run: (row) => row }] });`,
  );
  writeFileSync(join(folder, 'rows.csv'), `n\n${Array.from({ length: 20 }, (_, n) => `${n}\n`).join('')}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rowmill = (...args: string[]) => runCommand({ folder, databaseUrl: database.url }, args);

const idIn = (text: string): string => /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(text)![0];

/** The commands that a hint prints, split as a shell would. */
const printed = (stderr: string): string[][] =>
  [...stderr.matchAll(/^ +(?:npx )?rowmill (.*)$/gm)].map((match) =>
    [...match[1]!.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!),
  );

test('a job that reaches its budget exits with code 4 and prints a command that finishes it', async () => {
  const sentence = 'budget of €4.00 reached: €4.00 spent';
  const given = ['run', 'pipeline.ts', 'rows.csv', '--again', '--out', 'all results.csv'];
  const first = await rowmill(...given, '--budget', '4');
  expect(first.code).toBe(4);
  const jobId = idIn(first.stderr);
  expect(first.stderr).toContain(
    `Job ${jobId} is paused: ${sentence}; 12 of 20 rows are left. Continue with:`,
  );
  expect(first.stderr).toContain('The new budget is an estimate from the costs so far.');
  const [command] = printed(first.stderr);
  expect(command).toEqual([
    'run',
    'pipeline.ts',
    '--resume',
    jobId,
    '--out',
    'all results.csv',
    '--budget',
    '10',
  ]);
  expect((await rowmill(...command!)).code).toBe(0);
  expect((await rowmill('status', jobId)).stdout).toContain('cost €10.00, ');
  expect(readFileSync(join(folder, 'all results.csv'), 'utf8').trim().split('\n')).toHaveLength(21);
});

test('resume refuses a job without budget, and notes that no worker is running', async () => {
  const first = await rowmill(
    'run',
    'pipeline.ts',
    'rows.csv',
    '--again',
    '--budget',
    '4',
    '--budget-per-item',
    '1',
  );
  const jobId = idIn(first.stderr);
  const { stdout } = await rowmill('status', jobId);
  expect(stdout).toContain('  Paused: budget of €4.00 reached: €4.00 spent');
  expect(stdout).toContain('  Cost: €4.00');
  expect(stdout).toContain('  Budget of the job: €4.00, €4.00 spent');
  expect(stdout).toContain('  Budget per row: €1.00');
  const refused = await rowmill('run', 'pipeline.ts', '--resume', jobId);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`cannot resume job ${jobId}: budget of €4.00 reached`);
  expect(refused.stderr).toContain(
    `Raise the budget: rowmill run pipeline.ts --resume ${jobId} --budget 10\n`,
  );
  const resumed = await rowmill('resume', jobId, '--budget', '20');
  expect(resumed.stdout).toContain('is resumed');
  expect(resumed.stderr).toContain('note: no worker is running');
  expect(resumed.stderr).toContain(`rowmill run '<module of paid>' --resume ${jobId}`);
});
