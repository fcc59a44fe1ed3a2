// The SFTP adapter against an SSH server in this process: host keys, faults, and files that change.
import { existsSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type SftpTestServer, startSftpServer } from '../../../test/support/sftp-server.ts';
import { sha256Of, takeWholeFile } from '../../../test/support/take-whole-file.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { MAX_TRIES, scanSource } from './scan-source.ts';
import { createSftpSource } from './sftp-source.ts';
import type { SftpSourceConfig } from './source-config.ts';

const database = useTestDatabase();
const NEVER = new AbortController().signal;
const servers: SftpTestServer[] = [];
let source: string;

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  delete process.env.TEST_SFTP_PASSWORD;
});

async function start(options: { readOnly?: boolean } = {}): Promise<SftpTestServer> {
  const server = await startSftpServer(options);
  servers.push(server);
  process.env.TEST_SFTP_PASSWORD = server.password;
  source = `sftp-${newId().slice(0, 8)}`;
  return server;
}

function poller(
  server: SftpTestServer,
  options: Partial<SftpSourceConfig> = {},
  stableMs = 0,
  without: (keyof SftpSourceConfig)[] = [],
) {
  const context = database.context();
  const config: SftpSourceConfig = {
    name: source,
    kind: 'sftp',
    pipeline: 'watched',
    host: '127.0.0.1',
    port: server.port,
    path: '/',
    user: server.user,
    passwordEnv: 'TEST_SFTP_PASSWORD',
    hostKey: server.hostKey,
    ...options,
  };
  for (const key of without) delete (config as Partial<SftpSourceConfig>)[key];
  const adapter = createSftpSource(config, stableMs, 1500);
  return {
    context,
    adapter,
    scan: (takeFile = takeWholeFile(context)) => scanSource(context, adapter, config, takeFile, NEVER),
  };
}

const jobs = () =>
  database.query<{ name: string; sha256: string }>(
    `select name, params ->> 'sha256' as sha256 from jobs where params ->> 'source' = $1 order by name`,
    [source],
  );
const rows = () =>
  database.query<{ state: string; reason: string | null }>(
    'select state, reason from source_files where source = $1',
    [source],
  );
const names = (server: SftpTestServer, path: string) => readdirSync(join(server.root, path)).sort();
const offered = (server: SftpTestServer) => names(server, '.').filter((name) => !name.startsWith('.'));

describe('the host key', () => {
  it('must match the settings; the error shows the one that the server presents', async () => {
    const server = await start();
    const other = `SHA256:${'A'.repeat(43)}`;
    await expect(poller(server, { hostKey: other }).scan()).rejects.toMatchObject({
      code: 'SOURCE_INVALID',
      message: `expected 127.0.0.1:${server.port} to show the host key ${other}, it shows ${server.hostKey}`,
    });
    expect(server.passwords()).toBe(0);
  });

  it('must be configured; the error shows the one that the server presents', async () => {
    const server = await start();
    const { scan } = poller(server, {}, 0, ['hostKey']);
    await expect(scan()).rejects.toMatchObject({
      code: 'SOURCE_INVALID',
      message: `expected hostKey of the source ${source} to be set; 127.0.0.1:${server.port} shows ${server.hostKey}`,
    });
    expect(server.passwords()).toBe(0);
  });
});

it('reports a wrong password, a missing variable and an unreadable key file', async () => {
  const server = await start();
  process.env.TEST_SFTP_PASSWORD = 'wrong';
  await expect(poller(server).scan()).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  delete process.env.TEST_SFTP_PASSWORD;
  await expect(poller(server).scan()).rejects.toMatchObject({
    code: 'SOURCE_INVALID',
    message: 'expected the environment variable TEST_SFTP_PASSWORD to be set',
  });
  const { scan } = poller(server, { privateKeyFile: '/nowhere/key' }, 0, ['passwordEnv']);
  await expect(scan()).rejects.toMatchObject({
    code: 'SOURCE_INVALID',
    message: expect.stringContaining('/nowhere/key'),
  });
});

it('reports a folder that does not exist', async () => {
  const server = await start();
  await expect(poller(server, { path: '/nowhere' }).scan()).rejects.toMatchObject({
    code: 'SOURCE_UNAVAILABLE',
  });
});

it('turns a file into one job and moves it to .done; refuses links', async () => {
  const server = await start();
  const content = 'x,y\n1,2\n'.repeat(50_000);
  writeFileSync(join(server.root, 'a ü.csv'), content);
  symlinkSync('/etc/passwd', join(server.root, 'link.csv'));
  const { scan } = poller(server);
  expect(await scan()).toMatchObject({ found: 2, taken: 1, skipped: 1 });
  expect(await jobs()).toEqual([{ name: 'a ü.csv', sha256: sha256Of(content) }]);
  expect(offered(server)).toEqual(['link.csv']);
  expect(names(server, '.processing')).toEqual([]);
  expect(names(server, '.done')).toEqual([expect.stringMatching(/-a ü\.csv$/)]);
});

describe('a file', () => {
  it('is taken only after two polls that found the same size and time', async () => {
    const server = await start();
    // So long that no file becomes stable between two statements, however slow the machine is.
    const stableMs = 3_600_000;
    const now = performance.now.bind(performance);
    let passedMs = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
    onTestFinished(() => clock.mockRestore());
    const { scan } = poller(server, {}, stableMs);
    writeFileSync(join(server.root, 'a.csv'), 'x');
    expect(await scan()).toMatchObject({ taken: 0, waiting: 1 });
    writeFileSync(join(server.root, 'a.csv'), 'xx');
    passedMs += stableMs;
    expect(await scan()).toMatchObject({ taken: 0, waiting: 1 });
    passedMs += stableMs;
    expect(await scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toEqual([{ name: 'a.csv', sha256: sha256Of('xx') }]);
  });

  it('whose connection breaks midway is tried again, and becomes one job', async () => {
    const server = await start();
    const content = 'x'.repeat(500_000);
    writeFileSync(join(server.root, 'a.csv'), content);
    const { scan } = poller(server);
    server.cutDownloads(1, 200_000);
    expect(await scan()).toMatchObject({ taken: 0, errors: 1 });
    expect(await jobs()).toEqual([]);
    expect(await scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toEqual([{ name: 'a.csv', sha256: sha256Of(content) }]);
  });

  it('whose connection breaks midway five times fails with the reasons', async () => {
    const server = await start();
    writeFileSync(join(server.root, 'a.csv'), 'x'.repeat(500_000));
    const { scan } = poller(server);
    server.cutDownloads(MAX_TRIES, 200_000);
    for (let i = 1; i < MAX_TRIES; i += 1) expect(await scan()).toMatchObject({ errors: 1, failed: 0 });
    expect(await scan()).toMatchObject({ failed: 1 });
    const [row] = await rows();
    expect(row).toMatchObject({ state: 'failed' });
    expect(row!.reason!.split('\n')).toHaveLength(MAX_TRIES);
    const [failed, reason] = names(server, '.failed');
    expect(failed).toMatch(/-a\.csv$/);
    expect(readFileSync(join(server.root, '.failed', reason!), 'utf8')).toBe(`${row!.reason}\n`);
  });

  it('that stops arriving is abandoned after the deadline', async () => {
    const server = await start();
    writeFileSync(join(server.root, 'a.csv'), 'x'.repeat(500_000));
    const { scan } = poller(server);
    server.stallReads();
    expect(await scan()).toMatchObject({ taken: 0, errors: 1 });
  });

  it('that is replaced while it is read creates nothing, and is taken later', async () => {
    const server = await start();
    writeFileSync(join(server.root, 'a.csv'), 'old');
    utimesSync(join(server.root, 'a.csv'), 1_600_000_000, 1_600_000_000);
    const { scan, context } = poller(server);
    const held = () => join(server.root, '.processing', names(server, '.processing')[0]!);
    const replacing = takeWholeFile(context, { whileReading: () => writeFileSync(held(), 'new') });
    expect(await scan(replacing)).toMatchObject({ taken: 0, waiting: 1 });
    expect(await jobs()).toEqual([]);
    expect(offered(server)).toEqual(['a.csv']);
    expect(await scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toEqual([{ name: 'a.csv', sha256: sha256Of('new') }]);
  });

  it('that is refused midway is moved to .failed, and the next one is taken', async () => {
    const server = await start();
    writeFileSync(join(server.root, 'a.csv'), 'x'.repeat(2_000_000));
    writeFileSync(join(server.root, 'b.csv'), 'good');
    const { scan, context } = poller(server);
    const refusing = takeWholeFile(context, {
      whileReading: (file) =>
        file.name === 'a.csv' ? Promise.reject(new RowmillError('FILE_TOO_LARGE', 'too large')) : undefined,
    });
    expect(await scan(refusing)).toMatchObject({ failed: 1, taken: 1, errors: 0 });
    expect(names(server, '.failed')).toHaveLength(2);
    expect(names(server, '.done')).toHaveLength(1);
  });

  it('that can never be read is moved to .failed', async () => {
    const server = await start();
    writeFileSync(join(server.root, 'a.csv'), 'x');
    const { scan, context } = poller(server);
    const refusing = takeWholeFile(context, {
      beforeJob: () => Promise.reject(new RowmillError('FILE_INVALID', 'no header')),
    });
    expect(await scan(refusing)).toMatchObject({ failed: 1 });
    expect(names(server, '.failed')).toHaveLength(2);
  });

  it('stays in place on a server that does not allow renaming, and is still one job', async () => {
    const server = await start({ readOnly: true });
    writeFileSync(join(server.root, 'a.csv'), 'x');
    const first = poller(server);
    expect(await first.scan()).toMatchObject({ taken: 1 });
    expect(await first.scan()).toMatchObject({ found: 1, taken: 0, skipped: 1 });
    expect(await poller(server).scan()).toMatchObject({ found: 1, taken: 0, skipped: 1 });
    expect(existsSync(join(server.root, 'a.csv'))).toBe(true);
    expect(await jobs()).toHaveLength(1);
  });

  it('among many becomes one job with two pollers', async () => {
    const server = await start();
    for (let i = 0; i < 10; i += 1) writeFileSync(join(server.root, `${i}.csv`), `content ${i}`);
    const pollers = [poller(server), poller(server)];
    let taken = 0;
    while (offered(server).length > 0 || names(server, '.processing').length > 0) {
      for (const report of await Promise.all(pollers.map(({ scan }) => scan()))) taken += report.taken;
    }
    expect(taken).toBe(10);
    expect(new Set((await jobs()).map((job) => job.sha256)).size).toBe(10);
    expect(await jobs()).toHaveLength(10);
  });
});
