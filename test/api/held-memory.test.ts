// Memory that clients can make the server hold: body bytes and connections are bounded, per address and in total, with
// and without authentication.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { capturedLog, type LogEntry } from '../../src/testing/captured-log.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const WAIT = { timeout: 45_000, interval: 10 };

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Sender {
  socket: Socket;
  /** Bytes received from the server so far. */
  said: () => string;
}

async function open({ url }: RunningApi, text = ''): Promise<Sender> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on('error', () => {});
  let said = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    said += part;
  });
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return { socket, said: () => said };
}

const openMany = (api: RunningApi, count: number, text: string): Promise<Sender[]> =>
  Promise.all(Array.from({ length: count }, () => open(api, text)));

/** The beginning of a request whose body is never completed. */
const begin = (path: string, length: number | 'chunked', sent: number): string => {
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`;
  const body = ' '.repeat(sent);
  return length === 'chunked'
    ? `${head}transfer-encoding: chunked\r\n\r\n${sent.toString(16)}\r\n${body}\r\n`
    : `${head}content-length: ${length}\r\n\r\n${body}`;
};

async function measured(api: RunningApi, name: string): Promise<number> {
  const metric = await api.context.metrics.registry.getSingleMetric(name)!.get();
  return metric.values[0]!.value;
}
const heldBytes = (api: RunningApi): Promise<number> => measured(api, 'rowmill_request_body_bytes');
const connections = (api: RunningApi): Promise<number> => measured(api, 'rowmill_http_connections');
const refusedWith = (senders: Sender[], text: string): number =>
  senders.filter(({ said }) => said().includes(text)).length;

describe('without an account', () => {
  const account = { authentication: 'password' };

  test.each<[string, number | 'chunked']>([
    ['announced', 1_048_575],
    ['chunked', 'chunked'],
  ])('a large body, %s, is refused and not held', async (_, length) => {
    const api = await startTestApi(database.url, { settings: account });
    const senders = await openMany(api, 20, begin('/api/session', length, 100_000));
    await expect.poll(() => refusedWith(senders, '(apiAccountMaxBytes)'), WAIT).toBe(20);
    for (const { said } of senders) expect(said()).toMatch(/^HTTP\/1.1 413 /);
    await expect.poll(() => heldBytes(api), WAIT).toBe(0);
  });

  // slow-clients.test.ts covers how long they may take.
  test('incomplete small bodies hold the bytes sent, until the connection closes', async () => {
    const api = await startTestApi(database.url, { settings: account });
    const senders = await openMany(api, 20, begin('/api/session', 8192, 8000));
    await expect.poll(() => heldBytes(api), WAIT).toBe(160_000);
    for (const { socket } of senders) socket.destroy();
    await expect.poll(() => heldBytes(api), WAIT).toBe(0);
  });
});

describe('bodies with rows', () => {
  const limits = { apiBodyMaxBytes: 20_000, apiItemsMaxBytes: 100_000 };

  test.each<[string, number | 'chunked']>([
    ['announced', 90_000],
    ['chunked', 'chunked'],
  ])('that are large, %s, count as uploads, which are limited per caller', async (_, length) => {
    const api = await startTestApi(database.url, { settings: { ...limits, uploadsAtOnce: 2 } });
    const senders = await openMany(api, 10, begin('/api/jobs', length, 50_000));
    await expect.poll(() => refusedWith(senders, '(uploadsAtOnce)'), WAIT).toBe(8);
    await expect.poll(() => heldBytes(api), WAIT).toBe(100_000);
    // Small bodies do not count as uploads.
    const [small] = await openMany(api, 1, begin('/api/jobs', 1, 1));
    await expect.poll(() => small!.said(), WAIT).toMatch(/^HTTP\/1.1 400 /);
    for (const { socket } of senders) socket.destroy();
    await expect.poll(() => heldBytes(api), WAIT).toBe(0);
    const [next] = await openMany(api, 1, begin('/api/jobs', 50_000, 50_000));
    await expect.poll(() => next!.said(), WAIT).toMatch(/^HTTP\/1.1 400 /);
  });

  test.each([
    ['from one address', { apiAddressHeldBytes: 200_000 }, 429, 'apiAddressHeldBytes'],
    ['in total', { apiHeldBytes: 200_000 }, 503, 'apiHeldBytes'],
  ])(
    'are held up to a limit %s; further ones are refused with Retry-After',
    async (_, settings, status, name) => {
      const api = await startTestApi(database.url, {
        settings: { ...limits, ...settings, uploadsAtOnce: 100 },
      });
      const senders = await openMany(api, 12, begin('/api/jobs', 100_000, 60_000));
      await expect.poll(() => refusedWith(senders, `(${name})`), WAIT).toBeGreaterThanOrEqual(9);
      expect(await heldBytes(api)).toBeLessThanOrEqual(200_000);
      const refused = senders.find(({ said }) => said() !== '')!;
      expect(refused.said()).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*retry-after: `, 'i'));
      for (const { socket } of senders) socket.destroy();
      await expect.poll(() => heldBytes(api), WAIT).toBe(0);
    },
  );
});

describe('connections', () => {
  test.each([
    ['from one address', { apiSocketsAtOnceAddress: 3 }, 429, 'apiSocketsAtOnceAddress'],
    ['in total', { apiSocketsAtOnce: 3 }, 503, 'apiSocketsAtOnce'],
  ])('are limited %s, and a closed one makes room', async (_, settings, status, name) => {
    const api = await startTestApi(database.url, { settings });
    const ask = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';
    const [first] = await openMany(api, 3, '');
    await expect.poll(() => connections(api), WAIT).toBe(3);
    const [refused, silent] = [await open(api, ask), await open(api)];
    await expect.poll(() => refused.said(), WAIT).toContain(`(${name})`);
    expect(refused.said()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    // A connection that sends nothing is closed too.
    for (const { socket } of [refused, silent]) if (!socket.closed) await once(socket, 'close');
    first!.socket.destroy();
    await expect.poll(() => connections(api), WAIT).toBe(2);
    const next = await open(api, ask);
    await expect.poll(() => next.said(), WAIT).toContain('{"ok":true}');
  });

  test('behind a proxy are not limited by its address', async () => {
    const settings = { apiSocketsAtOnceAddress: 1, apiTrustedProxies: 1 };
    const api = await startTestApi(database.url, { settings });
    const senders = await openMany(api, 3, 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await expect.poll(() => refusedWith(senders, '{"ok":true}'), WAIT).toBe(3);
  });
});

test('a client that disconnects during its request causes no error in the log', async () => {
  const entries: Omit<LogEntry, 'atMs'>[] = [];
  const log = capturedLog((entry) => entries.push(entry), null);
  const api = await startTestApi(database.url, { log });
  const { socket } = await open(api, begin('/api/jobs', 1000, 100));
  await expect.poll(() => heldBytes(api), WAIT).toBe(100);
  socket.destroy();
  await expect
    .poll(() => entries.map(({ message }) => message), WAIT)
    .toContain('request aborted by the client');
  expect(entries.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
});
