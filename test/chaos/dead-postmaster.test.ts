// kill -9 of the postmaster of an embedded server: its owner, or the next process that uses it, restarts it.
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { joinEmbeddedPostgres } from '../../src/platform/embedded-postgres/join-embedded-postgres.ts';
import {
  identifyProcess,
  isRunning,
  type ProcessIdentity,
} from '../../src/platform/embedded-postgres/process-identity.ts';
import { findPostmaster } from '../../src/platform/embedded-postgres/server-processes.ts';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { type Child, killAll, startChild } from '../support/child-process.ts';
import { runCommand } from '../support/run-command.ts';

const onLinux = process.platform === 'linux';
const settings = { work_mem: '7MB' };
let base: string;
let template: string;
let folders = 0;
const strangers: ChildProcess[] = [];

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'rowmill-dead-postmaster-'));
  template = join(base, 'template');
  const server = await startEmbeddedPostgres({ dataDir: template });
  await query(server.url, 'create table kept as select 1 as n');
  await server.stop();
});
afterEach(async () => {
  await killAll();
  for (const stranger of strangers.splice(0)) stranger.kill('SIGKILL');
  // A failed test may have left its server running.
  for (let index = 1; index <= folders; index += 1) {
    const left = await findPostmaster(join(base, `data-${index}`, 'pgdata')).catch(() => null);
    if (left !== null) process.kill(left.identity.pid, 'SIGQUIT');
  }
});
afterAll(() => rm(base, { recursive: true, force: true, maxRetries: 10 }));

/** Copies a template, which is faster than initdb. */
async function newFolder(): Promise<string> {
  folders += 1;
  const dataDir = join(base, `data-${folders}`);
  await cp(template, dataDir, { recursive: true });
  return dataDir;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** The data and the owner's settings are still there. */
async function expectWhole(url: string): Promise<void> {
  expect(await query(url, 'select n from kept')).toEqual([{ n: 1 }]);
  expect(await query(url, 'show work_mem')).toEqual([{ work_mem: '7MB' }]);
}

async function postmasterOf(dataDir: string): Promise<ProcessIdentity> {
  return (await findPostmaster(join(dataDir, 'pgdata')))!.identity;
}

async function killPostmaster(dataDir: string): Promise<ProcessIdentity> {
  const postmaster = await postmasterOf(dataDir);
  process.kill(postmaster.pid, 'SIGKILL');
  while (isRunning(postmaster)) await delay(1);
  return postmaster;
}

/** Simulates pid reuse: the pid file of the dead postmaster names a living process. */
async function reuseNumberOf({ pid }: ProcessIdentity, dataDir: string): Promise<void> {
  const { uid, gid } = await stat(join(dataDir, 'pgdata'));
  const stranger = spawn('sleep', ['60'], process.getuid?.() === 0 ? { uid, gid } : {});
  strangers.push(stranger);
  const pidFile = join(dataDir, 'pgdata', 'postmaster.pid');
  const text = await readFile(pidFile, 'utf8');
  expect(text.startsWith(`${pid}\n`)).toBe(true);
  await writeFile(pidFile, text.replace(String(pid), String(stranger.pid)));
}

function child(does: 'own' | 'join', dataDir: string): Child {
  const script = new URL('../support/embedded-postgres-child.ts', import.meta.url);
  return startChild({ script, args: [does, dataDir, JSON.stringify(settings)] });
}

test('the owner of a killed server restarts it with the same address and settings', async () => {
  const dataDir = await newFolder();
  const log = new EventEmitter();
  const server = await startEmbeddedPostgres({ dataDir, settings, onLog: (line) => log.emit(line) });
  const isBack = once(log, `PostgreSQL is ready again on 127.0.0.1:${new URL(server.url).port}`);
  await killPostmaster(dataDir);
  await isBack;
  await expectWhole(server.url);
  await server.stop();
  await expect(query(server.url, 'select 1')).rejects.toThrow('ECONNREFUSED');
});

test.runIf(onLinux)(
  'of two processes that join a killed server one restarts it, both use it, and its owner stops it',
  async () => {
    const dataDir = await newFolder();
    const owner = child('own', dataDir);
    const { url } = (await owner.waitFor('started')) as unknown as { url: string };
    // A frozen owner cannot restart its server.
    owner.kill('SIGSTOP');
    await reuseNumberOf(await killPostmaster(dataDir), dataDir);

    const joined = [child('join', dataDir), child('join', dataDir)].map((each) => each.waitFor('joined'));
    expect(await Promise.all(joined)).toEqual(Array(2).fill({ event: 'joined', url }));
    const restarted = await postmasterOf(dataDir);
    await expectWhole(url);
    const { code, stdout } = await runCommand({ folder: base }, ['migrate', '--data-dir', dataDir]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('Applied')]);
    // All of them used the one that runs, and left it running.
    expect(await postmasterOf(dataDir)).toEqual(restarted);

    owner.kill('SIGCONT');
    owner.kill('SIGTERM');
    expect(await owner.exited).toEqual({ code: 0, signal: null });
    expect(identifyProcess(restarted.pid)).toBeNull();
  },
);

test('a process that joins while the owner stops gets the running server, or learns that the folder is free', async () => {
  const dataDir = await newFolder();
  const owner = await startEmbeddedPostgres({ dataDir });
  expect(await joinEmbeddedPostgres({ dataDir })).toBe(owner.url);
  const stopped = owner.stop();
  const joined = await joinEmbeddedPostgres({ dataDir });
  await stopped;
  // In either order, the server that the owner stopped was not started again.
  expect([owner.url, null]).toContain(joined);
  expect(await findPostmaster(join(dataDir, 'pgdata'))).toBeNull();
  expect(await joinEmbeddedPostgres({ dataDir })).toBeNull();
});

test('an owner whose folder was deleted does not create it again', async () => {
  const dataDir = await newFolder();
  const server = await startEmbeddedPostgres({ dataDir });
  await killPostmaster(dataDir);
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
  await server.stop();
  await expect(stat(dataDir)).rejects.toThrow('ENOENT');
});
