// A worker in a child process is replaced until the replacement runs, and serves its metrics.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { Database } from '../../src/platform/database.ts';
import { loadPipelines } from '../../src/pipeline/load-pipelines.ts';
import { SupervisedWorker, type SuperviseOptions } from '../../src/worker/process/supervise-worker.ts';
import { LIBRARY, MAIN } from '../support/built-program.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
const supervised: SupervisedWorker[] = [];
const databases: Database[] = [];
let command: ChildProcess | null = null;
let folder: string;
let rowmill: Rowmill;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-supervision-'));
  rowmill = await openRowmill({ databaseUrl: database.url });
  writeFileSync(
    join(folder, 'fragile.mjs'),
    `import { existsSync, writeFileSync } from 'node:fs';
     import { definePipeline } from '${LIBRARY}';
     if (existsSync('${folder}/broken')) throw new Error('not now');
     export const fragile = definePipeline({ name: 'fragile', phases: [{ name: 'only', run: ({ exit, messages }) => {
       for (const message of messages ?? []) process.send(message);
       if (exit && !existsSync('${folder}/exited')) {
         writeFileSync('${folder}/exited', '');
         writeFileSync('${folder}/broken', '');
         process.exit(9);
       }
       return { ran: true };
     } }] });`,
  );
});
afterEach(() => {
  for (const worker of supervised.splice(0)) worker.kill();
  command?.kill('SIGKILL');
  for (const mark of ['broken', 'exited']) rmSync(join(folder, mark), { force: true });
});
afterAll(async () => {
  for (const db of databases) await db.close();
  await rowmill.close();
  rmSync(folder, { recursive: true, force: true });
});

function supervise(options: Partial<SuperviseOptions> = {}): SupervisedWorker {
  const modules = [join(folder, 'fragile.mjs')];
  const worker = new SupervisedWorker({
    context: database.context(),
    modules,
    logLevel: 'silent',
    ...options,
  });
  supervised.push(worker);
  return worker;
}

async function run(rows: Record<string, unknown>[]): Promise<void> {
  const [pipeline] = await loadPipelines([join(folder, 'fragile.mjs')]);
  await whenFinished(rowmill, await rowmill.submit(pipeline!, rows));
}

test('a replacement that cannot start is retried until it can, and the reason is reported', async () => {
  const ends: string[] = [];
  const worker = supervise({
    onCrash: (how) => {
      ends.push(how);
      if (ends.filter((each) => each.includes('not now')).length === 2) rmSync(join(folder, 'broken'));
    },
  });
  await worker.start();
  await run([{ exit: true }]);
  expect(ends).toEqual([
    'exit code 9',
    expect.stringContaining('exit code 2'),
    expect.stringContaining('not now'),
  ]);
  expect(await worker.stop()).toBe(true);
});

test('a first child that cannot start is an error', async () => {
  writeFileSync(join(folder, 'broken'), '');
  await expect(supervise().start()).rejects.toThrow('not now');
});

/** The children reach the database through an address that the test can cut. */
async function contextBehindProxy(): Promise<{
  context: EngineContext;
  proxy: CuttableProxy;
}> {
  const url = new URL(database.url);
  const proxy = await startCuttableProxy(database.url);
  url.host = new URL(proxy.url).host;
  const context = database.context({ databaseStartWaitMs: 0 });
  const db = new Database({ url: url.href, maxConnections: 2, applicationName: 'test', deadlineMs: 60_000 });
  databases.push(db);
  return { context: { ...context, db }, proxy };
}

test('a replacement that cannot reach the database is retried until it can, and the reason names the database', async () => {
  const { context, proxy } = await contextBehindProxy();
  const ends: string[] = [];
  const worker = supervise({
    context,
    onCrash: (how) => {
      ends.push(how);
      rmSync(join(folder, 'broken'), { force: true });
      if (ends.length === 1) proxy.cut();
      if (ends.length === 3) proxy.heal();
    },
  });
  await worker.start();
  await run([{ exit: true }]);
  expect(ends).toEqual([
    'exit code 9',
    ...Array(2).fill(expect.stringContaining('the database did not answer')),
  ]);
  expect(await worker.stop()).toBe(true);
});

test('a first child that cannot reach the database is a database error, not an error of the pipeline', async () => {
  const { context, proxy } = await contextBehindProxy();
  proxy.cut();
  await expect(supervise({ context }).start()).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
});

test('a replacement that cannot even be created is retried, and a listener that throws ends nothing', async () => {
  const node = process.execPath;
  const ends: string[] = [];
  const worker = supervise({
    onCrash: (how) => {
      ends.push(how);
      rmSync(join(folder, 'broken'), { force: true });
      process.execPath = ends.length === 1 ? join(folder, 'no-such-program') : node;
      throw new Error('a listener that throws');
    },
  });
  try {
    await worker.start();
    await run([{ exit: true }]);
  } finally {
    process.execPath = node;
  }
  expect(ends).toEqual(['exit code 9', expect.stringMatching(/no process: .*ENOENT/)]);
  expect(await worker.stop()).toBe(true);
});

test('messages that handlers send to the parent are not mistaken for messages of the worker', async () => {
  const ends: string[] = [];
  const worker = supervise({
    onCrash: (how) => {
      ends.push(how);
      rmSync(join(folder, 'broken'), { force: true });
    },
  });
  await worker.start();
  const failed = { kind: 'failed', code: 'NO_SUCH_CODE', message: 'of a library' };
  // The row runs again immediately: the leases of this child are taken back as usual.
  await run([{ messages: [null, 'ready', { kind: 'else' }, failed], exit: true }]);
  expect(ends).toEqual(['exit code 9']);
  expect(await worker.stop()).toBe(true);
});

test('the metrics of a worker are served at the given address, and nothing else is', async () => {
  const worker = supervise({ metrics: { host: '127.0.0.1', port: 0 } });
  await worker.start();
  await run([{ exit: false }, { exit: false }]);
  const read = async (path: string, method = 'GET') => {
    const response = await fetch(new URL(path, worker.metricsUrl!), { method });
    return { status: response.status, text: await response.text() };
  };
  await expect
    .poll(async () => (await read('/metrics')).text)
    .toContain('rowmill_items_ended_total{status="DONE"} 2');
  expect(await read('/healthz')).toEqual({ status: 200, text: 'ok\n' });
  expect((await read('/')).status).toBe(404);
  expect((await read('/metrics', 'POST')).status).toBe(405);
  const second = supervise({
    metrics: { host: '127.0.0.1', port: Number(new URL(worker.metricsUrl!).port) },
  });
  await expect(second.start()).rejects.toMatchObject({ code: 'API_ADDRESS_REFUSED' });
  expect(await worker.stop()).toBe(true);
});

test('the command prints the metrics address of each of its processes', async () => {
  const args = ['worker', join(folder, 'fragile.mjs'), '--processes', '2', '--metrics-port', '0'];
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, DATABASE_URL: database.url },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  command = child;
  const urls: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    const [, url] = /^Metrics at (\S+)$/.exec(line) ?? [];
    if (url !== undefined) urls.push(url);
    if (urls.length === 2) break;
  }
  for (const url of urls)
    expect(await (await fetch(url)).text()).toContain('rowmill_slots{pipeline="fragile"');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
