// Commands on a terminal and without one: questions before a change that cannot be undone, names of earlier
// versions, and how the process exits.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FORMER_NAMES } from '../../src/cli/former-names.ts';
import { newId } from '../../src/platform/random.ts';
import { LIBRARY } from '../support/built-program.ts';
import { runCommand } from '../support/run-command.ts';
import { hasTerminal, runOnTerminal, type TerminalOptions } from '../support/run-on-terminal.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-terminal-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline } from '${LIBRARY}';
     // Handles that a module leaves open.
     setInterval(() => {}, 60_000);
     export const echo = definePipeline({ name: 'echo', phases: [{ name: 'only', run: (row) => row }] });`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rowmill = (...args: string[]) => runCommand({ folder, databaseUrl: database.url }, args);
const onTerminal = (args: string[], options?: TerminalOptions) =>
  runOnTerminal({ folder, databaseUrl: database.url }, args, options);

async function heldJob(): Promise<string> {
  const file = `${newId()}.csv`;
  writeFileSync(join(folder, file), `n\n${file}\n2\n3\n`);
  const { stdout } = await rowmill('submit', 'pipeline.ts', file, '--hold');
  return stdout.trim();
}

test('run exits when its job is finished, whatever handles the module of the pipeline keeps open', async () => {
  const file = `${newId()}.csv`;
  writeFileSync(join(folder, file), `n\n${file}\n`);
  const { code, stdout } = await rowmill('run', 'pipeline.ts', file, '--out', 'out.csv');
  expect([code, stdout]).toEqual([0, expect.stringContaining('1 row written to out.csv')]);
});

test('a command that reads creates no database, and says how to get one', async () => {
  const empty = mkdtempSync(join(folder, 'empty-'));
  for (const args of [['jobs', 'list'], ['doctor'], ['owners'], ['status']]) {
    const { code, stderr } = await runCommand({ folder: empty }, args);
    expect(code).toBe(1);
    expect(stderr).toContain(`there is no database in ${join(empty, '.rowmill')} yet [DATABASE_UNREACHABLE]`);
    expect(stderr).toContain('Create one with `rowmill dev`');
  }
  expect(existsSync(join(empty, '.rowmill'))).toBe(false);
});

test('without a terminal, cancel does not ask and delete needs --yes', async () => {
  const jobId = await heldJob();
  const running = await rowmill('jobs', 'delete', jobId, '--yes');
  expect([running.code, running.stderr]).toEqual([1, expect.stringContaining('it is PAUSED [JOB_CONFLICT]')]);
  const cancelled = await rowmill('jobs', 'cancel', jobId);
  expect(cancelled.code).toBe(0);
  expect(cancelled.stderr).toBe('note: without a terminal, the next version of this command needs --yes\n');
  expect((await rowmill('jobs', 'cancel', jobId, '-y')).stderr).toBe('');
  const refused = await rowmill('jobs', 'delete', jobId, '--json');
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({
    error: {
      code: 'NOT_CONFIRMED',
      message: `expected --yes, because there is no terminal to ask: Delete job ${jobId} (echo, ${(await nameOf(jobId))!})?`,
    },
  });
  const deleted = await rowmill('jobs', 'delete', jobId, '--yes');
  expect([deleted.code, deleted.stdout]).toEqual([
    0,
    `Job ${jobId} is deleted with 3 rows and their results\n`,
  ]);
  expect(await nameOf(jobId)).toBeUndefined();
  expect(await database.query('select from items where job_id = $1', [jobId])).toEqual([]);
});

test('--watch ends when the job stops, with one line per row', async () => {
  const jobId = await heldJob();
  const rows = await rowmill('rows', 'list', jobId.slice(0, 8), '--watch', '--json');
  expect([rows.code, rows.stdout.trim().split('\n').length]).toEqual([0, 3]);
  expect(JSON.parse(rows.stdout.split('\n')[2]!)).toMatchObject({ seq: 2, status: 'PENDING' });
  const shown = await rowmill('jobs', 'show', jobId, '-w');
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining(`${jobId}  PAUSED`)]);
});

async function nameOf(jobId: string): Promise<string | undefined> {
  const [job] = await database.query<{ name: string }>('select name from jobs where job_id = $1', [jobId]);
  return job?.name;
}

describe.runIf(hasTerminal)('on a terminal', () => {
  test('cancel and delete say what will happen, and ask', async () => {
    const jobId = await heldJob();
    const no = await onTerminal(['jobs', 'cancel', jobId], { answer: { after: '[y/N]', type: 'n\n' } });
    expect(no.screen).toContain(
      '3 rows waiting and 0 rows running get no result. 0 rows finished and keep their results.',
    );
    expect(no.screen).toContain('nothing was changed [NOT_CONFIRMED]');
    expect(no.code).toBe(1);
    const yes = await onTerminal(['cancel', jobId], { answer: { after: '[y/N]', type: 'y\n' } });
    expect(yes.screen).toContain('`rowmill cancel` is now `rowmill jobs cancel`.');
    expect(yes.screen).toContain('is cancelled: 3 rows had no result (CANCELLED)');
    expect(yes.code).toBe(0);
    const gone = await onTerminal(['jobs', 'delete', jobId], { answer: { after: '[y/N]', type: 'yes\n' } });
    expect(gone.screen).toContain('Its 3 rows, 0 of them with a result, and its files are removed');
    expect(gone.code).toBe(0);
    expect(await nameOf(jobId)).toBeUndefined();
  });

  test('a table fits the terminal', async () => {
    const jobId = await heldJob();
    const { screen } = await onTerminal(['jobs', 'list'], { columns: 40 });
    expect(screen).toMatch(new RegExp(`^${jobId.slice(0, 8)}  PAUSED`, 'm'));
    for (const line of screen.split('\n')) expect(line.length).toBeLessThanOrEqual(40);
    expect((await rowmill('jobs', 'list')).stdout).toContain((await nameOf(jobId))!);
  });

  test('a former name prints the current one, only there', async () => {
    expect((await onTerminal(['status'])).screen).toContain('`rowmill status` is now `rowmill jobs list`.');
    expect((await rowmill('status')).stderr).toBe('');
    expect(Object.values(FORMER_NAMES)).toContain('rows rerun');
  });
});
