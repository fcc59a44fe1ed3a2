// Requests to URLs that users supplied: refused addresses, names that change their address, and receivers that misbehave.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { makeSelfSignedCertificate } from '../../test/support/self-signed-certificate.ts';
import { addressRanges, parseAddressRanges } from './address-ranges.ts';
import {
  checkTarget,
  type GuardOptions,
  guardedPost,
  parseGuardedUrl,
  type Resolver,
} from './guarded-http.ts';

const NOTHING = addressRanges([]);
const LOOPBACK = { allow: addressRanges(['127.0.0.1']) };
const REFUSED = { code: 'WEBHOOK_URL_REFUSED' };

const answersWith =
  (...addresses: string[]): Resolver =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

async function check(text: string, options: Partial<GuardOptions> = {}): Promise<string[]> {
  const resolve = answersWith('93.184.216.34');
  const found = await checkTarget(parseGuardedUrl(text), { allow: NOTHING, resolve, ...options });
  return found.map(({ address }) => address);
}

describe('an address', () => {
  test('is reached by https on port 443 if it is public', async () => {
    expect(await check('https://example.org/hook')).toEqual(['93.184.216.34']);
    expect(await check('https://example.org:443/hook')).toEqual(['93.184.216.34']);
    expect(await check('https://93.184.216.34/hook')).toEqual(['93.184.216.34']);
    expect(await check('https://[2606:2800:220:1::1]/hook')).toEqual(['2606:2800:220:1::1']);
  });

  test.each([
    'not an address',
    'http://example.org/',
    'ftp://example.org/',
    'file:///etc/passwd',
    'https://example.org:8443/',
    'https://user:secret@example.org/',
    'https://user@example.org/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://①②⑦.0.0.1/',
    'https://0.0.0.0/',
    'https://10.1.2.3/',
    'https://172.16.0.1/',
    'https://172.31.255.255/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://100.64.0.1/',
    'https://192.0.2.1/',
    'https://198.18.0.1/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://[::]/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[::127.0.0.1]/',
    'https://[::ffff:0:127.0.0.1]/',
    'https://[3fff::1]/',
    'https://[5f00::1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fc00::1]/',
    'https://[fe80::1]/',
    'https://[ff02::1]/',
  ])('%s is refused', async (text) => {
    await expect((async () => check(text))()).rejects.toMatchObject(REFUSED);
  });

  test.each([
    ['127.0.0.1'],
    ['10.0.0.1'],
    ['::1'],
    ['::ffff:10.0.0.1'],
    ['93.184.216.34', '169.254.169.254'],
  ])('%s of a name is refused, even if the name also has public addresses', async (...addresses) => {
    const resolve = answersWith(...addresses);
    await expect(check('https://example.org/', { resolve })).rejects.toMatchObject(REFUSED);
  });

  test.each(['https://localhost/', 'https://localhost./'])(
    'of %s is resolved by the system',
    async (text) => {
      await expect(checkTarget(parseGuardedUrl(text), { allow: NOTHING })).rejects.toMatchObject(REFUSED);
    },
  );

  test('in an allowed range is reached on any port and without https; others are refused', async () => {
    const allow = parseAddressRanges('10.1.0.0/16, fd00::/8');
    expect(await check('http://10.1.2.3:8080/', { allow })).toEqual(['10.1.2.3']);
    expect(await check('http://[fd00::1]:8080/', { allow })).toEqual(['fd00::1']);
    for (const text of ['https://10.2.0.1/', 'http://example.org/', 'https://example.org:8443/'])
      await expect(check(text, { allow })).rejects.toMatchObject(REFUSED);
    const resolve = answersWith('10.1.0.1', '10.2.0.1');
    await expect(check('https://example.org/', { allow, resolve })).rejects.toMatchObject(REFUSED);
  });

  test.each(['10.0.0.0/33', 'example.org', '10.0.0.0/x', '::/129'])('range %s is refused', (range) => {
    expect(() => parseAddressRanges(range)).toThrow('expected an address range');
  });
});

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(
  answer: Answer,
  { host = '127.0.0.1', port = 0 } = {},
): Promise<{ port: number; calls: string[] }> {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    calls.push(request.url ?? '');
    answer(request, response);
  });
  servers.push(server);
  server.listen(port, host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, calls };
}

const post = (url: string, timeoutMs = 5000) => ({
  url,
  headers: { 'content-type': 'text/plain' },
  body: 'hello',
  timeoutMs,
});

describe('a receiver', () => {
  test('gets method, headers and body over its own connection', async () => {
    let got = '';
    const ports = new Set<number | undefined>();
    const { port } = await listen((request, response) => {
      ports.add(request.socket.remotePort);
      request.on('data', (chunk) => {
        got = `${request.method} ${request.headers['content-type']} ${chunk}`;
      });
      request.on('end', () => response.writeHead(202, { 'retry-after': '7' }).end('thanks'));
    });
    const answer = await guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/hook`));
    expect(answer).toMatchObject({ status: 202, retryAfter: '7' });
    await guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/hook`));
    expect(got).toBe('POST text/plain hello');
    expect(ports.size).toBe(2);
  });

  test('is the checked address, even if its name resolves differently later', async () => {
    const good = await listen((_request, response) => response.end());
    const inner = await listen((_request, response) => response.end(), {
      host: '127.0.0.2',
      port: good.port,
    });
    let looks = 0;
    const resolve: Resolver = async () => {
      looks += 1;
      return [{ address: looks === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
    };
    const url = `http://rebound.example:${good.port}/`;
    expect(await guardedPost({ ...LOOPBACK, resolve }, post(url))).toMatchObject({ status: 200 });
    expect(looks).toBe(1);
    await expect(guardedPost({ ...LOOPBACK, resolve }, post(url))).rejects.toMatchObject(REFUSED);
    expect({ good: good.calls.length, inner: inner.calls.length }).toEqual({ good: 1, inner: 0 });
  });

  test('that redirects is not followed', async () => {
    const other = await listen((_request, response) => response.end());
    const { port } = await listen((request, response) => {
      const location =
        request.url === '/metadata' ? 'http://169.254.169.254/latest/' : `http://127.0.0.1:${other.port}/`;
      response.writeHead(302, { location }).end();
    });
    expect(await guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/metadata`))).toMatchObject({
      status: 302,
    });
    expect(await guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/other`))).toMatchObject({
      status: 302,
    });
    expect(other.calls).toEqual([]);
  });

  test('whose response never ends is cut off', async () => {
    let sent = 0;
    let closed = (): void => {};
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { port } = await listen((_request, response) => {
      response.once('close', closed);
      const piece = Buffer.alloc(65_536);
      const write = (): void => {
        if (response.destroyed) return;
        sent += piece.length;
        if (response.write(piece)) setImmediate(write);
        else response.once('drain', write);
      };
      write();
    });
    expect(await guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/`))).toMatchObject({ status: 200 });
    await isClosed;
    expect(sent).toBeLessThan(50_000_000);
  });

  test('that sends its body slowly still counts as answered', async () => {
    const { port } = await listen((_request, response) => {
      response.write('a');
    });
    expect(await guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/`))).toMatchObject({ status: 200 });
  });

  test('counts as answered if it dies after its status, and not if it dies before', async () => {
    const { port } = await listen((request, response) => {
      if (request.url === '/before') return void request.socket.destroy();
      response.writeHead(200, { 'content-length': 1000 });
      response.write('a', () => request.socket.destroy());
    });
    expect(await guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/after`))).toMatchObject({
      status: 200,
    });
    await expect(guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/before`))).rejects.toThrow();
  });

  test('that does not respond, or whose name does not resolve, times out', async () => {
    const { port } = await listen(() => {});
    await expect(guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/`, 200))).rejects.toThrow(
      'no answer within 200 ms',
    );
    const resolve: Resolver = () => new Promise(() => {});
    await expect(guardedPost({ ...LOOPBACK, resolve }, post('https://slow.example/', 200))).rejects.toThrow(
      'no answer within 200 ms',
    );
  });

  test('that sends too many headers is refused', async () => {
    const { port } = await listen((_request, response) => {
      for (let n = 0; n < 40; n += 1) response.setHeader(`x-${n}`, 'x'.repeat(1000));
      response.end();
    });
    await expect(guardedPost(LOOPBACK, post(`http://127.0.0.1:${port}/`))).rejects.toThrow();
  });

  test('is refused without a certificate that is trusted for its name', async () => {
    const { key, cert } = makeSelfSignedCertificate();
    const server = createTlsServer({ key, cert }, (_request, response) => response.end());
    servers.push(server as unknown as Server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const resolve = answersWith('127.0.0.1');
    const guard = { ...LOOPBACK, resolve };
    await expect(guardedPost(guard, post(`https://localhost:${port}/`))).rejects.toThrow();
    expect(await guardedPost({ ...guard, ca: cert }, post(`https://localhost:${port}/`))).toMatchObject({
      status: 200,
    });
    await expect(
      guardedPost({ ...guard, ca: cert }, post(`https://other.example:${port}/`)),
    ).rejects.toThrow();
  });
});
