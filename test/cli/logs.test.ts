// rowmill logs prints the same through a server and on its database, and follows a job until it finishes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { definePipeline, openRowmill, type Rowmill } from '../../src/index.ts';
import { runCommand } from '../support/run-command.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;
let rowmill: Rowmill;
let release: () => void = () => {};

const logged = definePipeline({
  name: 'logged',
  phases: [
    {
      name: 'look up',
      retry: { overloaded: { maxAttempts: 2, baseMs: 1, capMs: 1 } },
      run: async (row, { log, seq, attempt }) => {
        log('looking', { seq });
        if (seq === 2 && attempt === 1) {
          log.warn('service is busy\u001b[31m');
          const cause = Object.assign(new Error('socket closed'), { code: 'ECONNRESET' });
          throw Object.assign(new Error('busy', { cause }), { status: 503 });
        }
        if (seq === 3)
          await new Promise<void>((resolve) => {
            release = resolve;
          });
        return row as object;
      },
    },
  ],
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-logs-'));
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterAll(async () => {
  await rowmill.close();
  rmSync(folder, { recursive: true, force: true });
});

test('log lines and attempts are the same over a server and on its database', async () => {
  const api = await startTestApi(database.url);
  const environment = { XDG_CONFIG_HOME: folder };
  const remote = (...args: string[]) =>
    runCommand({ folder, environment: { ...environment, ROWMILL_API: api.url } }, args);
  const direct = (...args: string[]) => runCommand({ folder, databaseUrl: database.url, environment }, args);
  const jobId = await rowmill.submit(logged, [{}, {}, {}, {}], { outputs: [] });
  const worker = await rowmill.startWorker([logged]);
  // The follower starts while the last row runs, and ends with the job.
  await expect.poll(async () => (await rowmill.job(jobId)).state).toBe('RUNNING');
  const following = Promise.all([
    remote('logs', jobId, '-f', '--json'),
    direct('logs', jobId, '-f', '--json'),
  ]);
  await expect.poll(async () => (await rowmill.progress(jobId)).counts.DONE).toBe(3);
  release();
  const followed = await following;
  await worker.stop();

  for (const { stdout, stderr, code } of followed) {
    expect(code, stderr).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ row, attempt, level }) => `${row} ${attempt} ${level}`).toSorted()).toEqual([
      '1 1 info',
      '2 1 info',
      '3 1 info',
      '3 1 warn',
      '3 2 info',
      '4 1 info',
    ]);
    expect(lines[0]).toMatchObject({ phaseName: 'look up', message: 'looking', generation: 1 });
  }
  for (const args of [
    ['logs', jobId, '--level', 'warn'],
    ['logs', jobId.slice(0, 8), '3'],
    ['logs', jobId, '3', '--json'],
  ]) {
    const [over, on] = await Promise.all([remote(...args), direct(...args)]);
    expect(over.stderr).toBe('');
    expect(over.stdout).toBe(on.stdout);
    expect(over.stdout).not.toContain('\u001b');
  }
  const warnings = await direct('logs', jobId, '--level', 'warn');
  expect(warnings.stdout).toMatch(/^\S+ \S+ {2}warn {3}row 3, look up: service is busy\n$/);
  const row = (await direct('logs', jobId, '3')).stdout;
  expect(row).toMatch(/look up, attempt 1: retry, took .*\n.*info {2}looking \{"seq":2\}\n/);
  expect(row).toMatch(/ {2}overloaded: busy.*\n {4}at .*logs\.test\.ts:\d+\)?\n/);
  expect(row).toContain('\n    caused by Error: socket closed (ECONNRESET)\n');
  expect(row).toMatch(/look up, attempt 2: done, took .* waited .* for a retry/);

  expect((await direct('logs', jobId, '--limit', '2')).stderr).toContain('First 2 lines');
  const refused = await direct('logs', jobId, '9');
  expect(refused.stderr).toContain('has no row 9');
  expect(refused.code).toBe(1);
  expect((await direct('logs', jobId, '3', '--follow')).stderr).toContain('--follow without a row');
});
