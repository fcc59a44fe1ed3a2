// rowmill server and rowmill dev: start, print their address, and stop in order.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { send, uploadForm } from '../support/api-pipelines.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { LIBRARY, MAIN } from '../support/built-program.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const children = new Set<ChildProcess>();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-server-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { existsSync, writeFileSync } from 'node:fs';
     import { definePipeline } from '${LIBRARY}';
     export const lengths = definePipeline({ name: 'lengths', phases: [
       { name: 'measure', run: async (row) => {
         const { text, waitFor } = row as unknown as { text: string; waitFor?: string };
         if (waitFor !== undefined) {
           writeFileSync(waitFor + '.started', '');
           while (!existsSync(waitFor)) await new Promise((resolve) => setTimeout(resolve, 20));
         }
         return { length: text.length };
       } } ] });`,
  );
});

afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Started {
  child: ChildProcess;
  url: string;
  stderr: () => string;
  ended: Promise<number | null>;
}

let faultPoints: string | undefined;

async function startCommand(...args: string[]): Promise<Started> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: {
      ...bareEnvironment(),
      DATABASE_URL: database.url,
      ...(faultPoints && { ROWMILL_FAULT_POINTS: faultPoints }),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.add(child);
  let text = '';
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      children.delete(child);
      resolve(code);
    });
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr!.on('data', (chunk) => {
      text += String(chunk);
      const found = /API on (http:\S+)/.exec(text)?.[1];
      if (found) resolve(found);
    });
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${text}`)));
  });
  return { child, url, stderr: () => text, ended };
}

const local = ['--set', 'apiPort=0', '--set', 'authentication=none'];

test('the server waits for an open request before it stops', async () => {
  const { child, url, stderr, ended } = await startCommand('server', 'pipeline.ts', ...local);
  const waitFor = join(folder, newId());
  const made = await send(url, 'POST', '/api/jobs', {
    pipeline: 'lengths',
    items: [{ text: 'abc', waitFor }],
  });
  expect(made.status).toBe(202);
  const slice = send(url, 'POST', `/api/jobs/${made.body.jobId}/slice?durationMs=60000`);
  await expect.poll(() => existsSync(`${waitFor}.started`)).toBe(true);
  child.kill('SIGTERM');
  await expect.poll(stderr).toContain('SIGTERM');
  // New requests are refused.
  await expect
    .poll(() =>
      send(url, 'GET', '/healthz').then(
        ({ status }) => status,
        () => 'refused',
      ),
    )
    .not.toBe(200);
  writeFileSync(waitFor, '');
  const { status, body } = await slice;
  expect([status, body.finished]).toEqual([200, true]);
  expect(await ended).toBe(0);
});

test('a second server on the same port exits with the reason', async () => {
  const first = await startCommand('server', 'pipeline.ts', ...local);
  const { port } = new URL(first.url);
  const second = startCommand('server', 'pipeline.ts', '--port', port, '--set', 'authentication=none');
  await expect(second).rejects.toThrow('API_ADDRESS_REFUSED');
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);
});

test('a server without accounts refuses to listen on a public address', async () => {
  const started = startCommand('server', 'pipeline.ts', ...local, '--host', '0.0.0.0');
  await expect(started).rejects.toThrow('API_ADDRESS_REFUSED');
});

test.each([
  ['is killed while it reads a file', 'ingest.after_commit=kill@2'],
  ['is stopped while it reads a file', undefined],
])('the next server finishes the file of a server that %s, every row once', async (_, fault) => {
  const rows = 60_000;
  const name = newId();
  const quick = [
    ...local,
    '--set',
    'ingestLeaseMs=1000',
    '--set',
    'sweepMs=100',
    '--set',
    'ingestMaxRows=500',
  ];
  // Slow enough that the server is still reading the file when it stops.
  await database.query(`create or replace function be_slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.05); return null; end $$`);
  await database.query(
    'create or replace trigger slow after insert on spans for each statement execute function be_slow()',
  );
  faultPoints = fault;
  const first = await startCommand('server', 'pipeline.ts', ...quick);
  faultPoints = undefined;
  const text = `text\n${Array.from({ length: rows }, (_row, n) => `row ${n} ${name}\n`).join('')}`;
  const form = uploadForm({ pipeline: 'lengths', name, hold: true }, text);
  // The response may be lost with the process, but not the job.
  void send(first.url, 'POST', '/api/jobs', form).catch(() => {});
  const job = async () =>
    (
      await database.query<{ item_count: string; sealed: boolean }>(
        'select item_count, sealed_at is not null as sealed from jobs where name = $1',
        [name],
      )
    )[0];
  if (fault === undefined) {
    await expect.poll(async () => Number((await job())?.item_count ?? 0)).toBeGreaterThan(0);
    first.child.kill('SIGTERM');
    expect(await first.ended).toBe(0);
  } else expect(await first.ended).toBe(null);
  await database.query('drop trigger slow on spans');
  const left = await job();
  expect(left?.sealed).toBe(false);
  const second = await startCommand('server', 'pipeline.ts', ...quick);
  await expect.poll(job).toEqual({ item_count: String(rows), sealed: true });
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
});

test('dev uses the next port if its own is taken, and starts no worker if a chosen port is taken', async () => {
  const taken = createServer();
  const port = await freePairOfPorts(taken);
  const first = await startCommand('dev', 'pipeline.ts', '--config', configWith({ apiPort: port }));
  expect(first.stderr()).toContain(`Port ${port} is taken: trying ${port + 1} (set one with --port)`);
  expect(new URL(first.url).port).toBe(String(port + 1));
  const page = { origin: 'http://evil.example' };
  const refused = await fetch(`${first.url}/api/jobs`, { method: 'POST', headers: page });
  expect(await refused.text()).toContain(`a page of http://localhost:${port + 1} `);
  const second = startCommand('dev', 'pipeline.ts', '--port', String(port));
  await expect(second).rejects.toThrow('API_ADDRESS_REFUSED');
  await expect(second).rejects.not.toThrow('worker process');
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);
  taken.close();
});

function configWith(settings: object): string {
  const path = join(folder, `${newId()}.json`);
  writeFileSync(path, JSON.stringify(settings));
  return path;
}

/** Listens on a port whose successor is free. */
async function freePairOfPorts(server: Server): Promise<number> {
  for (;;) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const next = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      next.once('error', () => resolve(false));
      next.listen(port + 1, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => next.close(resolve));
    if (isFree) return port;
    await new Promise((resolve) => server.close(resolve));
  }
}

test('dev serves the API and runs posted jobs in its worker', async () => {
  const { child, url, ended } = await startCommand(
    'dev',
    'pipeline.ts',
    '--set',
    'apiPort=0',
    '--log-level',
    'warn',
  );
  const made = await send(url, 'POST', '/api/jobs', { pipeline: 'lengths', items: [{ text: 'abcd' }] });
  expect(made.status).toBe(202);
  const state = async () =>
    (
      await database.query<{ state: string }>('select state from jobs where job_id = $1', [made.body.jobId])
    )[0]!.state;
  await expect.poll(state).toBe('DONE');
  const { body } = await send(url, 'GET', `/api/jobs/${made.body.jobId}/export?columns=length`);
  expect(body).toBe('length\n4\n');
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});
