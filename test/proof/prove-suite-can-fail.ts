// Proves that the tests can fail: removes one safeguard at a time from a copy of the source, and expects the tests that
// guard it to fail. Exits 1 if the tests still pass, or if a proof is void because its tests did not run. An argument
// selects the safeguards whose name contains it.
//
// There is one copy per core. Its folder, its compiled code and its PostgreSQL serve all mutations that it takes, and a run
// ends at its first failed test: a mutation then costs its tests and little else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { text } from 'node:stream/consumers';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { SERVER_SETTINGS } from '../support/global-setup.ts';
import { removeAtEnd } from '../support/remove-at-end.ts';
import { MUTATIONS, type Mutation } from './mutations.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NOT_COPIED = new Set(['node_modules', '.git', 'dist', '.rowmill', 'out', 'bench']);
const COMPILE = [
  'node_modules/typescript/bin/tsc',
  '-p',
  'tsconfig.build.json',
  '--incremental',
  '--tsBuildInfoFile',
  'dist/.tsbuildinfo',
];

interface Copy {
  folder: string;
  databaseUrl: string;
  close(): Promise<void>;
}

async function openCopy(): Promise<Copy> {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-proof-'));
  const dataDir = mkdtempSync(join(tmpdir(), 'rowmill-proof-postgres-'));
  removeAtEnd(folder, dataDir);
  cpSync(ROOT, folder, {
    recursive: true,
    filter: (path) => !NOT_COPIED.has(relative(ROOT, path).split(sep)[0]!),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
  const server = await startEmbeddedPostgres({ dataDir, settings: SERVER_SETTINGS });
  return {
    folder,
    databaseUrl: server.url,
    close: () => server.stop(),
  };
}

async function run(copy: Copy, args: readonly string[]): Promise<{ succeeded: boolean; output: string }> {
  const child = spawn(process.execPath, args, {
    cwd: copy.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Every case: some safeguards matter only in rare orders. Without a safeguard some jobs never finish.
    env: { ...process.env, DATABASE_URL: copy.databaseUrl, TEST_DEEP: '1', TEST_PATIENCE_MS: '30000' },
  });
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, 'close')) as [number | null];
  return { succeeded: code === 0, output: (await outputs).join('') };
}

interface Report {
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

/**
 * The tests that failed, each with the first line of its failure. Throws if nothing is proved: a test file did not run,
 * or none of its tests did, for example after a failed setup.
 */
function readReport({ testResults }: Report, { tests }: Mutation): string[] {
  const ended = testResults.flatMap((file) =>
    file.assertionResults.filter(({ status }) => status === 'passed' || status === 'failed'),
  );
  const failed = ended.filter(({ status }) => status === 'failed');
  for (const path of failed.length > 0 ? [] : tests) {
    const file = testResults.find(({ name }) => name.split(sep).join('/').endsWith(`/${path}`));
    if (!file) throw new Error(`${path} was not run`);
    if (file.status === 'failed') throw new Error(`${path} failed outside its tests: ${file.message}`);
  }
  if (ended.length === 0) throw new Error(`no test ran in ${tests.join(', ')}`);
  return failed.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]?.split('\n')[0]}`);
}

async function failuresWithout(mutation: Mutation, copy: Copy): Promise<string[]> {
  const path = join(copy.folder, mutation.file);
  const report = join(copy.folder, 'report.json');
  const source = readFileSync(path, 'utf8');
  if (!source.includes(mutation.from)) throw new Error(`${mutation.file} does not contain: ${mutation.from}`);
  try {
    writeFileSync(path, source.replaceAll(mutation.from, mutation.to));
    const built = await run(copy, COMPILE);
    if (!built.succeeded) throw new Error(`the mutated source does not compile:\n${built.output}`);
    const named = mutation.named ? ['-t', mutation.named] : [];
    const json = ['--reporter=json', `--outputFile=${report}`];
    const tested = await run(copy, [
      'node_modules/vitest/vitest.mjs',
      'run',
      ...json,
      '--retry=0',
      '--bail=1',
      ...mutation.tests,
      ...named,
    ]);
    if (!existsSync(report)) throw new Error(`the tests gave no report:\n${tested.output}`);
    return readReport(JSON.parse(readFileSync(report, 'utf8')) as Report, mutation);
  } finally {
    writeFileSync(path, source);
    rmSync(report, { force: true });
  }
}

const chosen = MUTATIONS.filter(({ name }) => name.includes(process.argv[2] ?? ''));
const waiting = [...chosen];
let stayedGreen = 0;
let voided = 0;

async function proveWaiting(): Promise<void> {
  const copy = await openCopy();
  try {
    for (let mutation = waiting.shift(); mutation; mutation = waiting.shift()) {
      const startedMs = performance.now();
      const seconds = (): string => `${Math.round((performance.now() - startedMs) / 1000)} s`;
      try {
        const failed = await failuresWithout(mutation, copy);
        if (failed.length === 0) stayedGreen += 1;
        const lines = [`${failed.length > 0 ? 'red  ' : 'GREEN'} without ${mutation.name} (${seconds()})`];
        console.log([...lines, ...failed.slice(0, 3)].join('\n        '));
      } catch (error) {
        voided += 1;
        console.log(`VOID  without ${mutation.name} (${seconds()})\n        ${(error as Error).message}`);
      }
    }
  } finally {
    await copy.close();
  }
}

const copies = Math.min(availableParallelism(), chosen.length);
await Promise.all(Array.from({ length: copies }, proveWaiting));
if (stayedGreen > 0) console.log(`${stayedGreen} safeguards are not tested`);
if (voided > 0) console.log(`${voided} proofs are void`);
if (stayedGreen + voided === 0) console.log('every safeguard is tested');
process.exit(stayedGreen + voided === 0 ? 0 : 1);
