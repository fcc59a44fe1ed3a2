// Budgets as a person uses them: run with one, see why the job stands still, raise it, go on.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const library = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-budget-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline } from '${library}';
     export const paid = definePipeline({ name: 'paid', phases: [{ name: 'only', cost: 0.5, run: (row) => row }] });`,
  );
  writeFileSync(join(folder, 'rows.csv'), `n\n${Array.from({ length: 20 }, (_, n) => `${n}\n`).join('')}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rowmill = (...args: string[]) => runCommand({ folder, databaseUrl: database.url }, args);

test('a job that reached its budget ends the command with the reason, and goes on when the budget is raised', async () => {
  const sentence = 'budget of 4 reached: 4 spent';
  const first = await rowmill('run', 'pipeline.ts', 'rows.csv', '--budget', '4', '--budget-per-item', '1');
  expect(first.code).toBe(0);
  const jobId = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(first.stderr)![0];
  expect(first.stderr).toContain(`the job is paused: ${sentence}: rowmill resume ${jobId}`);
  const { stdout } = await rowmill('status', jobId);
  expect(stdout).toContain(`  paused: ${sentence}`);
  expect(stdout).toContain('  cost: 4');
  expect(stdout).toContain('  budget of the job: 4, 4 spent');
  expect(stdout).toContain('  budget per item: 1');
  expect((await rowmill('resume', jobId, '--budget', '20')).stdout).toContain('goes on');
  expect((await rowmill('run', 'pipeline.ts', '--resume', jobId)).code).toBe(0);
  expect((await rowmill('status', jobId)).stdout).toContain('cost 10, ');
  const refused = await rowmill('run', 'pipeline.ts', 'rows.csv', '--budget', '-1');
  expect(refused.stderr).toContain('expected a number from 0');
});
