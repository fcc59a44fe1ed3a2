// The FTP adapter against an FTP server in this process: encryption, faults, and the address that PASV names.
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type FtpServerOptions,
  type FtpTestServer,
  startFtpServer,
} from '../../../test/support/ftp-server.ts';
import { makeSelfSignedCertificate } from '../../../test/support/self-signed-certificate.ts';
import { sha256Of, takeWholeFile } from '../../../test/support/take-whole-file.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { createFtpSource } from './ftp-source.ts';
import { MAX_TRIES, scanSource } from './scan-source.ts';
import type { FtpSourceConfig } from './source-config.ts';

const database = useTestDatabase();
const NEVER = new AbortController().signal;
const certificate = makeSelfSignedCertificate();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-ca-'));
const caFile = join(folder, 'ca.pem');
const servers: FtpTestServer[] = [];
let source: string;

beforeAll(() => writeFileSync(caFile, certificate.cert));
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  delete process.env.TEST_FTP_PASSWORD;
});
afterAll(() => rmSync(folder, { recursive: true }));

async function start(options: FtpServerOptions = {}): Promise<FtpTestServer> {
  const server = await startFtpServer(options);
  servers.push(server);
  process.env.TEST_FTP_PASSWORD = server.password;
  source = `ftp-${newId().slice(0, 8)}`;
  return server;
}

function poller(server: FtpTestServer, options: Partial<FtpSourceConfig> = {}, stableMs = 0) {
  const context = database.context();
  const config: FtpSourceConfig = {
    name: source,
    kind: 'ftp',
    pipeline: 'watched',
    host: '127.0.0.1',
    port: server.port,
    path: '/',
    user: server.user,
    passwordEnv: 'TEST_FTP_PASSWORD',
    secure: 'none',
    allowPlain: true,
    ...options,
  };
  const adapter = createFtpSource(config, stableMs, 1000);
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
const names = (server: FtpTestServer, path: string) => readdirSync(join(server.root, path)).sort();
const offered = (server: FtpTestServer) => names(server, '.').filter((name) => !name.startsWith('.'));

describe.each([
  { how: 'plain', server: {}, config: {} },
  { how: 'explicit TLS', server: { tls: certificate }, config: { secure: 'explicit' as const, caFile } },
  {
    how: 'implicit TLS',
    server: { tls: certificate, implicit: true },
    config: { secure: 'implicit' as const, caFile },
  },
])('with $how', ({ server: serverOptions, config }) => {
  it('a file becomes one job and moves to .done', async () => {
    const server = await start(serverOptions);
    const content = 'x,y\n1,2\n'.repeat(50_000);
    writeFileSync(join(server.root, 'a ü.csv'), content);
    const { scan } = poller(server, config);
    expect(await scan()).toMatchObject({ found: 1, taken: 1 });
    expect(await jobs()).toEqual([{ name: 'a ü.csv', sha256: sha256Of(content) }]);
    expect(offered(server)).toEqual([]);
    expect(names(server, '.processing')).toEqual([]);
    expect(names(server, '.done')).toEqual([expect.stringMatching(/-a ü\.csv$/)]);
    expect(await scan()).toMatchObject({ found: 0 });
  });
});

describe('a connection', () => {
  it('needs a trusted certificate before the password is sent', async () => {
    const server = await start({ tls: certificate });
    await expect(poller(server, { secure: 'explicit' }).scan()).rejects.toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
      message: expect.stringContaining('self-signed'),
    });
    expect(server.commands).toContain('AUTH');
    expect(server.commands).not.toContain('PASS');
  });

  it('needs a certificate for the configured host', async () => {
    const server = await start({ tls: certificate });
    // Another notation of the same address, which is not in the certificate.
    const { scan } = poller(server, { secure: 'explicit', caFile, host: '127.1' });
    await expect(scan()).rejects.toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
      message: expect.stringContaining('altnames'),
    });
    expect(server.commands).toContain('AUTH');
    expect(server.commands).not.toContain('PASS');
  });

  it('needs encryption unless plain FTP is allowed', async () => {
    const server = await start();
    await expect(poller(server, { secure: 'explicit', caFile }).scan()).rejects.toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
    });
    expect(server.commands).toContain('AUTH');
    expect(server.commands).not.toContain('PASS');
  });

  it('fails with a wrong or missing password', async () => {
    const server = await start();
    process.env.TEST_FTP_PASSWORD = 'wrong';
    await expect(poller(server).scan()).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
    delete process.env.TEST_FTP_PASSWORD;
    await expect(poller(server).scan()).rejects.toMatchObject({
      code: 'SOURCE_INVALID',
      message: 'expected the environment variable TEST_FTP_PASSWORD to be set',
    });
  });
});

describe('the address that PASV names', () => {
  it('is ignored: data comes from the host of the control connection', async () => {
    // The address is unreachable. The library itself would refuse it, and could not read from servers behind a router.
    const server = await start({ without: ['EPSV'], passiveAddress: '10.255.255.1' });
    writeFileSync(join(server.root, 'a.csv'), 'content');
    expect(await poller(server).scan()).toMatchObject({ taken: 1 });
    expect(server.commands, 'void: PASV was not used').toContain('PASV');
    expect(await jobs()).toEqual([{ name: 'a.csv', sha256: sha256Of('content') }]);
  });
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
    server.stallDownload(200_000);
    expect(await scan()).toMatchObject({ taken: 0, errors: 1 });
    expect(await scan()).toMatchObject({ taken: 1 });
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

it('refuses a server that does not report the time of its files', async () => {
  const server = await start({ without: ['MDTM'] });
  writeFileSync(join(server.root, 'a.csv'), 'x');
  await expect(poller(server).scan()).rejects.toMatchObject({
    code: 'SOURCE_INVALID',
    message: expect.stringContaining('does not report the size and time'),
  });
});
