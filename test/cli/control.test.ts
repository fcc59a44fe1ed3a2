// Pause, resume, cancel, --hold and --trial on the command line.
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
  folder = mkdtempSync(join(tmpdir(), 'rowmill-control-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline } from '${LIBRARY}';
     export const echo = definePipeline({ name: 'echo', phases: [{ name: 'only', run: (row) => row }] });`,
  );
  writeFileSync(join(folder, 'rows.csv'), `n\n${Array.from({ length: 20 }, (_, n) => `${n}\n`).join('')}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rowmill = (...args: string[]) => runCommand({ folder, databaseUrl: database.url }, args);

const jobOf = (stdout: string): string => /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(stdout)![0];

test('a test run runs its rows and exits; run --resume runs the rest', async () => {
  const trial = await rowmill('run', 'pipeline.ts', 'rows.csv', '--trial', '5', '--again');
  expect(trial.code).toBe(0);
  const jobId = jobOf(trial.stderr);
  expect(trial.stderr).toContain(
    `Job ${jobId} has 15 rows on hold. Continue with:\n  rowmill run pipeline.ts --resume ${jobId}\n`,
  );
  expect((await rowmill('status', jobId)).stdout).toContain('on hold 15');
  const rest = await rowmill('run', 'pipeline.ts', '--resume', jobId, '--out', 'out.csv');
  expect(rest.code).toBe(0);
  expect(readFileSync(join(folder, 'out.csv'), 'utf8').trim().split('\n')).toHaveLength(21);
});

test('a held job is stored whole, can be resumed, paused and cancelled, and explains refused actions', async () => {
  const held = await rowmill('run', 'pipeline.ts', 'rows.csv', '--hold', '--again');
  expect(held.code).toBe(0);
  const jobId = jobOf(held.stderr);
  expect(held.stderr).toContain(`Job ${jobId} is paused; 20 of 20 rows are left. Continue with:`);
  expect((await rowmill('resume', jobId)).stdout).toContain('is resumed (QUEUED)');
  expect(JSON.parse((await rowmill('pause', jobId, '--json')).stdout)).toEqual({
    jobId,
    action: 'pause',
    state: 'PAUSED',
  });
  expect((await rowmill('pause', jobId)).stdout).toContain('was already paused');
  const cancelled = await rowmill('cancel', jobId);
  expect(cancelled.stdout).toContain('is cancelled: 20 rows had no result (CANCELLED)');
  expect((await rowmill('cancel', jobId)).stdout).toContain('was already cancelled');
  const refused = await rowmill('resume', jobId);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`cannot resume job ${jobId}: it is CANCELLED`);
  expect(refused.stderr).toContain('Reprocess its rows with the status CANCELLED');
  expect((await rowmill('doctor', '--job', jobId)).code).toBe(0);
});

test('slices finish a job without a worker', async () => {
  const stored = await rowmill('run', 'pipeline.ts', 'rows.csv', '--hold', '--again');
  const jobId = jobOf(stored.stderr);
  const paused = await rowmill('slice', jobId, 'pipeline.ts');
  expect(paused).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('(PAUSED): 0 outcomes'),
  });
  expect(paused.stdout).toContain('20 rows left, another slice would do nothing now');
  await rowmill('resume', jobId);
  const done = await rowmill('slice', jobId.slice(0, 8), 'pipeline.ts', '--duration', '1m', '--json');
  expect(JSON.parse(done.stdout)).toMatchObject({ jobId, state: 'DONE', finished: true, recorded: 20 });
  expect((await rowmill('slice', jobId, 'pipeline.ts')).stdout).toContain('the job is finished');
  const wrong = await rowmill('slice', jobId, 'pipeline.ts', '--duration', 'soon');
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('expected a duration such as 200ms, 5s or 1m');
});
