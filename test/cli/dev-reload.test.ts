// rowmill dev reloads a project after a change: a real child process, real files and a real database.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { send } from '../support/api-pipelines.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { LIBRARY, MAIN } from '../support/built-program.ts';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const children = new Set<ChildProcess>();
let folder: string;
/** Unique per attempt, because attempts share a database and a worker runs every job of its pipelines. */
let pipeline: string;

/** Kept for the whole file, because the doctor checks the files of every job. */
let blobs: string;

beforeAll(() => {
  blobs = mkdtempSync(join(tmpdir(), 'rowmill-reload-blobs-'));
});
afterAll(() => rmSync(blobs, { recursive: true, force: true }));

/** A project whose answer is two imports away from the pipeline. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-reload-'));
  pipeline = `words-${newId()}`;
  mkdirSync(join(folder, 'lib'));
  write('rowmill.config.ts', `export default { pipelines: ['pipeline.ts'] };`);
  write('pipeline.ts', pipelineText());
  write('lib/near.ts', `export { word } from './far.ts';`);
  write('lib/far.ts', `export const word = 'first';`);
});

afterEach(() => {
  for (const { pid } of children) killGroup(pid!);
  rmSync(folder, { recursive: true, force: true });
});

function pipelineText(): string {
  return `import { existsSync, writeFileSync } from 'node:fs';
    import { definePipeline } from '${LIBRARY}';
    import { word } from './lib/near.ts';
    export const words = definePipeline({ name: '${pipeline}', phases: [
      { name: 'say', concurrency: 2, run: async (row) => {
        const { waitFor } = row as unknown as { waitFor?: string };
        if (waitFor !== undefined) {
          writeFileSync(waitFor + '.started', '');
          while (!existsSync(waitFor)) await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return { word };
      } } ] });`;
}

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All its processes have exited.
  }
}

interface Dev {
  child: ChildProcess;
  url: string;
  stderr: () => string;
  /** Resolves with the first new line that matches. */
  prints: (pattern: RegExp) => Promise<string>;
  ended: Promise<number | null>;
}

async function startDev(...args: string[]): Promise<Dev> {
  const child = spawn(
    process.execPath,
    [MAIN, 'dev', '--port', '0', '--set', `blobStore=${blobs}`, ...args],
    {
      cwd: folder,
      env: { ...bareEnvironment(), DATABASE_URL: database.url },
      stdio: ['ignore', 'ignore', 'pipe'],
      // A group of its own, which a test can kill with its workers.
      detached: true,
    },
  );
  children.add(child);
  let text = '';
  let read = 0;
  child.stderr!.on('data', (chunk) => {
    text += String(chunk);
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const prints = async (pattern: RegExp): Promise<string> => {
    let line: string | undefined;
    await expect
      .poll(
        () =>
          (line = text
            .slice(read)
            .split('\n')
            .slice(0, -1)
            .find((each) => pattern.test(each))),
        {
          message: text,
        },
      )
      .toBeDefined();
    read = text.indexOf(line!, read) + line!.length;
    return line!;
  };
  const url = /http:\S+/.exec(await prints(/API on http/))![0];
  await prints(/1 worker process/);
  return { child, url, stderr: () => text, prints, ended };
}

async function submit(url: string, items: object[]): Promise<string> {
  const made = await send(url, 'POST', '/api/jobs', { pipeline, items });
  expect(made.status).toBe(202);
  return String(made.body.jobId);
}

async function resultsOf(url: string, jobId: string): Promise<string> {
  await expect
    .poll(() => database.query('select state from jobs where job_id = $1', [jobId]))
    .toEqual([{ state: 'DONE' }]);
  return String((await send(url, 'GET', `/api/jobs/${jobId}/export?columns=word`)).body);
}

async function wordOf(url: string): Promise<string> {
  return resultsOf(url, await submit(url, [{}]));
}

/** Killed workers of other tests stay in the table. */
async function workersOfPipeline(): Promise<number> {
  const found = await database.query('select 1 from workers where abilities::text like $1', [
    `%${pipeline}%`,
  ]);
  return found.length;
}

const reloadOf = async (url: string) => (await send(url, 'GET', '/api/configuration')).body.reload;

test('new rows run the changed code, and a running call finishes on the earlier code', async () => {
  const { child, url, prints, ended } = await startDev();
  const waitFor = join(folder, 'go');
  const slow = await submit(url, [{ waitFor }]);
  await expect.poll(() => existsSync(`${waitFor}.started`)).toBe(true);
  write('lib/far.ts', `export const word = 'second';`);
  expect(await prints(/Reloaded/)).toMatch(
    new RegExp(`^Reloaded ${pipeline} in \\d+ ms: lib/far\\.ts changed$`),
  );
  expect(await wordOf(url)).toBe('word\nsecond\n');
  writeFileSync(waitFor, '');
  expect(await resultsOf(url, slow)).toBe('word\nfirst\n');
  await expect.poll(workersOfPipeline).toBe(1);
  expect(await reloadOf(url)).toEqual({ count: 1, error: null });
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test('Ctrl-C gives a call on earlier code no more than drainMs, and its row runs again', async () => {
  const first = await startDev('--set', 'drainMs=100');
  const waitFor = join(folder, 'go');
  const slow = await submit(first.url, [{ waitFor }]);
  await expect.poll(() => existsSync(`${waitFor}.started`)).toBe(true);
  write('lib/far.ts', `export const word = 'second';`);
  await first.prints(/Reloaded/);
  first.child.kill('SIGINT');
  expect(await first.ended).toBe(0);
  expect(await workersOfPipeline()).toBe(0);
  writeFileSync(waitFor, '');
  const second = await startDev();
  expect(await resultsOf(second.url, slow)).toBe('word\nsecond\n');
});

test('a change that does not load is reported, and the earlier code runs until it is corrected', async () => {
  const { url, prints, stderr } = await startDev();
  write('lib/far.ts', `export const word = ;`);
  const line = await prints(/Reload failed/);
  expect(line).toContain('lib/far.ts is not valid TypeScript: Unexpected token at line 1, column 21');
  await expect
    .poll(() => reloadOf(url))
    .toMatchObject({ count: 0, error: { message: expect.stringContaining('line 1, column 21') } });
  expect(await wordOf(url)).toBe('word\nfirst\n');
  write('lib/far.ts', `export const word = 'second';`);
  await prints(/Reloaded/);
  await expect.poll(() => reloadOf(url)).toEqual({ count: 1, error: null });
  expect(await wordOf(url)).toBe('word\nsecond\n');
  // An error of the definition, and a module that does not exist yet.
  const empty = `export const words = definePipeline({ name: '${pipeline}', phases: [] });`;
  write('pipeline.ts', `import { definePipeline } from '${LIBRARY}'; ${empty}`);
  expect(await prints(/Reload failed/)).toContain('phase');
  write('pipeline.ts', `import './lib/later.ts';\n${pipelineText()}`);
  expect(await prints(/Reload failed/)).toContain('./lib/later.ts, which does not exist');
  write('lib/later.ts', `export {};`);
  await prints(/Reloaded/);
  expect(stderr().match(/Reload failed/g)).toHaveLength(3);
});

test('the API uses the changed definition, and a file that an editor replaces is noticed', async () => {
  const { url, prints } = await startDev();
  const rows = [{ text: 'a' }];
  expect((await send(url, 'POST', '/api/jobs', { pipeline, items: rows })).status).toBe(202);
  pipeline = `renamed-${newId()}`;
  write('.pipeline.ts.swp', pipelineText());
  renameSync(join(folder, '.pipeline.ts.swp'), join(folder, 'pipeline.ts'));
  await prints(/Reloaded renamed/);
  const { body } = await send(url, 'GET', '/api/pipelines');
  expect(body.items).toMatchObject([{ name: pipeline }]);
  expect(await wordOf(url)).toBe('word\nfirst\n');
});

test('JavaScript modules are reloaded, also those that a module of JavaScript imports', async () => {
  write('package.json', '{ "type": "module" }');
  write('rowmill.config.js', `export default { pipelines: ['pipeline.mjs'] };`);
  rmSync(join(folder, 'rowmill.config.ts'));
  const text = (label: string): string => `import { definePipeline } from '${LIBRARY}';
    import { word } from './lib/near.js';
    export const words = definePipeline({ name: '${pipeline}', phases: [
      { name: '${label}', run: () => ({ word }) } ] });`;
  write('pipeline.mjs', text('one'));
  write('lib/near.js', `export { word } from './far.js';`);
  write('lib/far.js', `export const word = 'first';`);
  const { url, prints } = await startDev();
  write('lib/far.js', `export const word = 'second';`);
  await prints(/Reloaded .*lib\/far\.js changed/);
  expect(await wordOf(url)).toBe('word\nsecond\n');
  write('lib/far.js', `export const word = ;`);
  expect(await prints(/Reload failed/)).toContain('lib/far.js');
  write('lib/far.js', `export const word = 'third';`);
  await prints(/Reloaded/);
  expect(await wordOf(url)).toBe('word\nthird\n');
  // The API of this process has the new definition as well.
  write('pipeline.mjs', text('two'));
  await prints(/Reloaded/);
  const { body } = await send(url, 'GET', '/api/pipelines');
  expect(body.items).toMatchObject([{ name: pipeline, phases: [{ name: 'two' }] }]);
});

test('a changed rowmill.config.ts loads other modules, and a save without a change reloads nothing', async () => {
  const { url, prints, stderr } = await startDev();
  const earlier = pipeline;
  pipeline = `other-${newId()}`;
  write('other.ts', pipelineText());
  write('pipeline.ts', pipelineText().replace(pipeline, earlier));
  write('rowmill.config.ts', `export default { pipelines: ['pipeline.ts', 'other.ts'] };`);
  await prints(new RegExp(`Reloaded ${earlier}, ${pipeline} .*rowmill.config.ts changed`));
  expect(await wordOf(url)).toBe('word\nfirst\n');
  write(
    'rowmill.config.ts',
    `export default { pipelines: ['pipeline.ts', 'other.ts'], settings: { drainMs: 1 } };`,
  );
  await prints(/Reloaded/);
  await prints(/Settings and sources have changed: restart rowmill dev to apply them/);
  expect(stderr().match(/Reloaded/g)).toHaveLength(2);
});

test.each([
  ['all processes', (pid: number) => killGroup(pid)],
  // Its workers notice that it is gone, and exit.
  ['the command only', (pid: number) => void process.kill(pid, 'SIGKILL')],
])('kill -9 of %s during a reload loses no row', async (_, kill) => {
  const leases = ['--set', 'lockFloorMs=1000', '--set', 'sweepMs=200'];
  const first = await startDev(...leases);
  const waitFor = join(folder, 'go');
  const rows = 50;
  const jobId = await submit(
    first.url,
    Array.from({ length: rows }, (_, n) => ({ n, waitFor })),
  );
  await expect.poll(() => existsSync(`${waitFor}.started`)).toBe(true);
  write('lib/far.ts', `export const word = 'second';`);
  // Both workers exist: the earlier one has running calls, the new one starts.
  await expect.poll(workersOfPipeline).toBe(2);
  kill(first.child.pid!);
  writeFileSync(waitFor, '');
  // The end of the output, which the workers share.
  expect(await first.ended).toBe(null);
  const second = await startDev(...leases);
  const words = (await resultsOf(second.url, jobId)).trim().split('\n').slice(1);
  expect(words).toHaveLength(rows);
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
  const doctor = await runCommand({ folder, databaseUrl: database.url }, [
    'doctor',
    // The settings of the test server are not those of a healthy one.
    '--job',
    jobId,
    '--set',
    `blobStore=${blobs}`,
  ]);
  expect(doctor.code, doctor.stdout).toBe(0);
});

test('kill -9 of the new worker while it loads: the earlier code runs until another one has loaded', async () => {
  const { url, prints } = await startDev();
  const loading = join(folder, 'loading.pid');
  // Only a worker process has a channel to its supervisor. The first one never gets beyond this.
  write(
    'lib/far.ts',
    `import { existsSync, writeFileSync } from 'node:fs';
     if (process.send && !existsSync('loading.pid')) {
       writeFileSync('loading.pid', String(process.pid));
       Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
     }
     export const word = 'second';`,
  );
  await expect.poll(() => existsSync(loading) && readFileSync(loading, 'utf8')).toMatch(/^\d+$/);
  expect(await wordOf(url)).toBe('word\nfirst\n');
  process.kill(Number(readFileSync(loading, 'utf8')), 'SIGKILL');
  await prints(/A worker process exited with signal SIGKILL and was replaced/);
  await prints(/Reloaded/);
  expect(await wordOf(url)).toBe('word\nsecond\n');
  await expect.poll(workersOfPipeline).toBe(1);
});
