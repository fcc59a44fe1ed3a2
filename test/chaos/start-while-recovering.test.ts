// Processes that start while PostgreSQL is unavailable: they wait for it, up to a limit, and report the wait.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { findPostmaster, signal } from '../../src/platform/embedded-postgres/server-processes.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import type { DatabaseWait } from '../../src/platform/when-database-answers.ts';
import { LIBRARY } from '../support/built-program.ts';
import { startCommand } from '../support/run-command.ts';

let folder: string;
let dataDir: string;
let url: string;
let server: EmbeddedPostgres;
// A server in recovery that is not open for readers answers every connection with 57P03 until it is promoted.
const settings = { wal_level: 'replica', hot_standby: 'off' };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowmill-recovering-'));
  dataDir = join(folder, 'data');
  await writeFile(
    join(folder, 'pipeline.mjs'),
    `import { definePipeline } from '${LIBRARY}';
     export default definePipeline({ name: 'any', phases: [{ name: 'only', run: () => ({}) }] });`,
  );
  server = await startEmbeddedPostgres({ dataDir, settings });
  url = server.url;
  await server.stop();
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function startInRecovery(): Promise<{ promote(): Promise<void> }> {
  await server.stop();
  await writeFile(join(dataDir, 'pgdata', 'standby.signal'), '');
  const starting = startEmbeddedPostgres({ dataDir, settings });
  while ((await errorOfConnecting()) !== '57P03');
  return {
    async promote() {
      const { identity } = (await findPostmaster(join(dataDir, 'pgdata')))!;
      await writeFile(join(dataDir, 'pgdata', 'promote'), '');
      signal(identity.pid, 'SIGUSR1');
      server = await starting;
    },
  };
}

async function errorOfConnecting(): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  return client.connect().then(
    () => client.end().then(() => undefined),
    (error: { code?: string }) => error.code,
  );
}

/** Runs the command; `prints` resolves when it has printed the text, and rejects if it exits without. */
function command(args: string[]): { prints(text: string): Promise<void>; stop(): Promise<number | null> } {
  const { child, ended } = startCommand({ folder, databaseUrl: url }, args);
  let stderr = '';
  child.stderr!.on('data', (chunk) => {
    stderr += String(chunk);
  });
  return {
    async prints(text) {
      const printed = new Promise<void>((resolve) => {
        const look = (): void => (stderr.includes(text) ? resolve() : undefined);
        child.stderr!.on('data', look);
        look();
      });
      const early = ended.then(() => Promise.reject(new Error(`it ended before '${text}': ${stderr}`)));
      await Promise.race([printed, early]);
    },
    stop: async () => {
      child.kill('SIGTERM');
      return (await ended).code;
    },
  };
}

/** `reported` resolves with the first wait that the library reports. */
function openAndReport(onWait: (wait: DatabaseWait) => void = () => {}): {
  opening: Promise<Rowmill>;
  reported: Promise<DatabaseWait>;
} {
  let opening: Promise<Rowmill>;
  const reported = new Promise<DatabaseWait>((resolve) => {
    opening = openRowmill({
      databaseUrl: url,
      onDatabaseWait: (wait) => {
        onWait(wait);
        resolve(wait);
      },
    });
  });
  return { opening: opening!, reported };
}

test('workers, servers, commands and programs that start while PostgreSQL recovers wait for it', async () => {
  const { promote } = await startInRecovery();
  const waits: DatabaseWait[] = [];
  const worker = command(['worker', 'pipeline.mjs']);
  const api = command(['server', 'pipeline.mjs', '--port', '0']);
  const { opening, reported } = openAndReport((wait) => waits.push(wait));
  const notReady = 'PostgreSQL is not ready: the database system is not accepting connections';
  await Promise.all([reported, worker.prints(notReady), api.prints(notReady)]);
  await promote();
  await (await opening).close();
  expect(waits).toEqual([
    { state: 'waiting', because: expect.stringContaining('not accepting connections'), waitMs: 60_000 },
    { state: 'ready', afterMs: expect.any(Number) },
  ]);
  await Promise.all([worker, api].map((each) => each.prints('PostgreSQL is ready after')));
  await Promise.all([worker.prints('1 worker process'), api.prints('Web page and API on')]);
  expect(await Promise.all([worker.stop(), api.stop()])).toEqual([0, 0]);
});

test('a server that does not become ready in time is an error that names the setting and the reason', async () => {
  const { promote } = await startInRecovery();
  const opening = openRowmill({
    databaseUrl: url,
    settings: { databaseStartWaitMs: 200 },
    onDatabaseWait: () => {},
  });
  await expect(opening).rejects.toMatchObject({
    code: 'DATABASE_UNREACHABLE',
    message: expect.stringMatching(/within 200 ms \(databaseStartWaitMs\): .*not accepting connections/),
  });
  await promote();
});

test('a process also waits for a restarting server that refuses connections', async () => {
  await server.stop();
  expect(await errorOfConnecting()).toBe('ECONNREFUSED');
  const { opening, reported } = openAndReport();
  expect(await reported).toMatchObject({ because: expect.stringContaining('ECONNREFUSED') });
  server = await startEmbeddedPostgres({ dataDir, settings });
  await (await opening).close();
});
