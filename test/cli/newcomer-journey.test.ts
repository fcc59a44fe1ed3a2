// The first minutes of a newcomer: a project from nothing, its page, an edit, a failed row, its test, the correction and
// the results. Each command is a real process with the packed package; only `npm install` is replaced, because there is
// no network. A command that prints an error fails the test, and so does one more command than before.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bareEnvironment } from '../support/bare-environment.ts';
import { installPacked, pack } from '../support/packed-package.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

interface RecordedCommand {
  command: string;
  code: number | null;
  stdout: string;
  stderr: string;
}

let folder: string;
let project: string;
let tarball: string;
const transcript: RecordedCommand[] = [];
const running = new Set<ChildProcess>();
let hasFailed = false;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-newcomer-'));
  // Like /root: the user that runs PostgreSQL cannot enter it.
  chmodSync(folder, 0o700);
  project = join(folder, 'my-project');
  writeFileSync(join(folder, 'npmrc'), '');
  tarball = pack(repository, folder);
});
afterAll(() => {
  for (const { pid } of running) killGroup(pid!);
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(({ skip }) => skip(hasFailed, 'the step before it failed'));
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  hasFailed = true;
  console.log(transcriptText());
});

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All its processes have exited.
  }
}

function transcriptText(): string {
  return transcript
    .map(({ command, code, stdout, stderr }) => `$ ${command}\n${stdout}${stderr}[exit code ${code}]\n`)
    .join('\n');
}

/** Starts a command as a shell would, and records it. */
function start(command: string, cwd: string): { recorded: RecordedCommand; ended: Promise<RecordedCommand> } {
  const child = spawn('sh', ['-c', command], {
    cwd,
    env: {
      ...bareEnvironment(),
      HOME: process.env.HOME,
      // npm reads no settings of this machine and never asks the registry.
      npm_config_userconfig: join(folder, 'npmrc'),
      npm_config_cache: join(folder, 'npm-cache'),
      npm_config_offline: 'true',
      npm_config_update_notifier: 'false',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which the test can stop as Ctrl-C does.
    detached: true,
  });
  running.add(child);
  const recorded: RecordedCommand = { command, code: null, stdout: '', stderr: '' };
  transcript.push(recorded);
  child.stdout.on('data', (chunk) => {
    recorded.stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    recorded.stderr += String(chunk);
  });
  const ended = new Promise<RecordedCommand>((resolve) =>
    child.on('close', (code) => {
      running.delete(child);
      recorded.code = code;
      resolve(recorded);
    }),
  );
  return { recorded, ended };
}

async function type(command: string, { cwd = project, code = 0 } = {}): Promise<string> {
  const { stdout, stderr, ...ended } = await start(command, cwd).ended;
  expect(ended.code, `${command}\n${stdout}${stderr}`).toBe(code);
  return `${stdout}${stderr}`;
}

/** Replaces the file, so that nothing reads half of a change. */
function edit(name: string, ...changes: readonly [from: string, to: string][]): void {
  const path = join(project, name);
  let text = readFileSync(path, 'utf8');
  for (const [from, to] of changes) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  const edited = join(folder, 'edited');
  writeFileSync(edited, text);
  renameSync(edited, path);
}

/** The command that the output offers. */
function offered(output: string, pattern: RegExp): string {
  expect(output).toMatch(pattern);
  return pattern.exec(output)![1]!;
}

// A step begins where the one before it ended, so none can be tried again.
describe('a newcomer gets from nothing to corrected results with eleven commands', { retry: 0 }, () => {
  let dev: ReturnType<typeof start>;
  let jobId: string;
  /** The command that tries the failed row. */
  let again: string;

  async function whenReloaded(count: number): Promise<void> {
    const lines = () => dev.recorded.stderr.match(/^Reload.*$/gm) ?? [];
    await expect.poll(lines).toHaveLength(count);
    expect(lines().at(-1)).toMatch(/^Reloaded prices in \d+ ms: pipeline\.ts changed$/);
  }

  test('creates a project, whose test passes', async () => {
    installPacked(tarball, folder);
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ dependencies: { rowmill: `file:${tarball}` } }),
    );
    const made = await type('npx rowmill init my-project', { cwd: folder });
    expect(offered(made, /Next:\n {2}(.*)\n/)).toBe('cd my-project && npm install');
    installPacked(tarball, project);
    expect(await type('npm test')).toContain('pass 3');
  });

  test('starts the server and tries a row', async () => {
    dev = start('npm run dev -- --port 0', project);
    await expect.poll(() => dev.recorded.stderr).toMatch(/^1 worker process for prices/m);
    const tried = await type(`npm run try -- prices '{"product":"lamp","price":"10","currency":"USD"}'`);
    expect(tried).toContain('"euros": 9.2');
  });

  test('changes the pipeline, runs the file and finds the failed row', async () => {
    // Prices above 60 euros have no band: one row of the sample.
    edit(
      'pipeline.ts',
      ['export const prices', `${BANDS}\nexport const prices`],
      [CONVERT, CONVERT_WITH_BAND],
    );
    edit('pipeline.test.ts', ['{ euros: 9.2 }', "{ euros: 9.2, band: 'low' }"]);
    await whenReloaded(1);
    const run = await type('npx rowmill run prices rows.csv --follow', { code: 3 });
    const errors = await type(offered(run, /1 row failed\. List the errors with: (npx rowmill .*)\n/));
    expect(errors).toContain('Cannot read properties of undefined (reading');
    again = offered(errors, /with: (npx rowmill try prices --from \S+ --row 15)\n/);
    jobId = / --from (\S+)/.exec(again)![1]!;
  });

  test('makes the failed row a test', async () => {
    const failed = await type(`${again} --fixture fixtures/row-15.json`, { code: 3 });
    expect(failed).toMatch(/permanent: Cannot read .*\n {4}TypeError\n {4}at .*pipeline\.ts:\d+\)/);
    const red = await type('npm test', { code: 1 });
    expect(red).toMatch(/not ok \d+ - row-15\.json is done/);
    expect(red).toContain('fail 1');
  });

  test('corrects the pipeline, reruns the row and exports the results', async () => {
    edit('pipeline.ts', ['upTo: 60', 'upTo: Infinity']);
    await whenReloaded(2);
    expect(await type('npm test')).toContain('pass 4');
    const promoted = await type(`npx rowmill rows retry ${jobId} 15 --promote`);
    expect(promoted).toContain('Row 15: DONE\n  {\n    "band": "high",\n    "euros": 61.43');
    await type(`npx rowmill jobs export ${jobId} --out priced.csv`);
    expect(await pricesIn('priced.csv')).toEqual(expectedPrices());
  });

  test('stops the server, and no command has printed an error', async () => {
    const [devChild] = running;
    process.kill(-devChild!.pid!, 'SIGINT');
    await dev.ended;
    expectQuietTranscript();
  });
});

const BANDS = `const BANDS = [
  { upTo: 20, band: 'low' },
  { upTo: 60, band: 'high' },
];
`;
const CONVERT = 'run: (row, { previous }) => ({ euros: Math.round(row.price * previous.rate * 100) / 100 }),';
const CONVERT_WITH_BAND = `run: (row, { previous }) => {
        const euros = Math.round(row.price * previous.rate * 100) / 100;
        return { euros, band: BANDS.find(({ upTo }) => euros <= upTo)!.band };
      },`;

/** Every row of the sample, computed here. */
function expectedPrices(): Record<string, string>[] {
  const rates: Record<string, number> = { EUR: 1, USD: 0.92, GBP: 1.17, CHF: 1.05 };
  const rows = parse(readFileSync(join(project, 'rows.csv')), { columns: true }) as Record<string, string>[];
  expect(rows).toHaveLength(20);
  return rows.map((row) => {
    const rate = rates[row.currency!];
    if (rate === undefined) return { ...row, euros: '', band: '', status: 'NOT_FOUND' };
    const euros = Math.round(Number(row.price) * rate * 100) / 100;
    return { ...row, euros: String(euros), band: euros <= 20 ? 'low' : 'high', status: 'DONE' };
  });
}

async function pricesIn(name: string): Promise<Record<string, string>[]> {
  const rows = parse(readFileSync(join(project, name)), { columns: true, bom: true }) as Record<
    string,
    string
  >[];
  return rows.map(({ product, price, currency, euros, band, ...rest }) => {
    const status = Object.values(rest).find((value) => ['DONE', 'NOT_FOUND', 'ERROR'].includes(value));
    return { product, price, currency, euros, band, status } as Record<string, string>;
  });
}

/** The whole journey: its number of commands, and no error on standard error. */
function expectQuietTranscript(): void {
  expect(
    transcript.map(({ command }) => command.split(' ').slice(0, 4).join(' ')),
    transcriptText(),
  ).toEqual([
    'npx rowmill init my-project',
    'npm test',
    'npm run dev --',
    'npm run try --',
    'npx rowmill run prices',
    'npx rowmill jobs errors',
    'npx rowmill try prices',
    'npm test',
    'npm test',
    'npx rowmill rows retry',
    'npx rowmill jobs export',
  ]);
  for (const { command, stderr } of transcript) {
    expect(stderr, command).not.toMatch(/^\s*(error\b|npm (warn|error)|Reload failed|at .*:\d+:\d+)/im);
    expect(stderr, command).not.toMatch(/\w*Error: |"level":(4|5|6)0|\bwarning\b/i);
  }
}
