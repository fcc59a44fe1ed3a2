// Slow clients over real sockets: none can hold a connection indefinitely.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { errorAnswer } from '../../src/contract/route.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const DRIP_MS = 20;
const WAIT = { timeout: 45_000 };

const timers: NodeJS.Timeout[] = [];
afterEach(() => {
  for (const timer of timers.splice(0)) clearInterval(timer);
});

async function open({ url }: RunningApi): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Sends the text, then one byte after the other until the server closes the connection. Returns the answer. */
async function dribble(api: RunningApi, text: string, byte = ' '): Promise<string> {
  const socket = await open(api);
  let said = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    said += part;
  });
  socket.write(text);
  timers.push(setInterval(() => socket.writable && socket.write(byte), DRIP_MS));
  await new Promise((resolve) => socket.once('close', resolve));
  return said;
}

function refusalIn(said: string): { status: number; code: string; message: string } {
  const [head = '', body = ''] = said.split('\r\n\r\n');
  const { code, message } = errorAnswer.parse(JSON.parse(body));
  return { status: Number(head.split(' ')[1]), code, message };
}

const post = (path: string, { type = 'application/json', bytes = 1_000_000 } = {}): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${bytes}\r\n\r\n{`;

describe('a slow body', () => {
  test.each([
    ['/api/jobs', 'apiBodyMs', 1_000_000],
    ['/api/session', 'apiAccountBodyMs', 5000],
    ['/api/setup', 'apiAccountBodyMs', 5000],
  ])(
    'to %s is refused after its time limit (%s), and the connection is closed',
    async (path, name, bytes) => {
      const api = await startTestApi(database.url, { settings: { [name]: 200 } });
      expect(refusalIn(await dribble(api, post(path, { bytes })))).toMatchObject({
        status: 400,
        code: 'REQUEST_INVALID',
        message: expect.stringContaining(name),
      });
    },
  );

  test.each([
    ['to an unknown URL', '/api/nothing', 404],
    ['that is larger than accounts need', '/api/session', 413],
  ])('%s is refused before it is read', async (_, path, status) => {
    const settings = { authentication: 'password', apiBodyMs: 1000, apiAccountBodyMs: 1000 };
    const api = await startTestApi(database.url, { settings });
    expect(refusalIn(await dribble(api, post(path)))).toMatchObject({ status });
  });

  test('of a refused request is not waited for', async () => {
    const api = await startTestApi(database.url, { settings: { authentication: 'password' } });
    expect(refusalIn(await dribble(api, post('/api/jobs')))).toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('of a refused type is not waited for either', async () => {
    const api = await startTestApi(database.url);
    const said = await dribble(api, post('/api/webhooks', { type: 'multipart/form-data; boundary=x' }));
    expect(refusalIn(said)).toMatchObject({ code: 'MEDIA_TYPE_UNSUPPORTED' });
  });

  test('that arrives in time is accepted, and so is the next request on the connection', async () => {
    const api = await startTestApi(database.url);
    const socket = await open(api);
    let said = '';
    socket.setEncoding('utf8').on('data', (part: string) => {
      said += part;
    });
    const body = JSON.stringify({ url: 'nonsense' });
    const head = `POST /api/webhooks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    for (const round of [1, 2]) {
      socket.write(head + body.slice(0, 5));
      socket.write(body.slice(5));
      await expect.poll(() => said.split('WEBHOOK_URL_REFUSED').length - 1, WAIT).toBe(round);
    }
    socket.destroy();
  });
});

describe('an invalid request', () => {
  test.each<[string, string, number, string]>([
    ['headers that do not end', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ', 408, 'apiHeaderMs'],
    [
      'headers that are too long',
      `GET /healthz HTTP/1.1\r\nx-long: ${'a'.repeat(20_000)}`,
      431,
      '16384 bytes',
    ],
    ['text that is not HTTP', 'hello\r\n\r\n', 400, 'HTTP'],
  ])(
    'with %s is refused in the shape of every refusal, and the connection is closed',
    async (_, text, status, named) => {
      // Only the slow headers get a short limit, so that the others are not refused for slowness.
      const api = await startTestApi(database.url, {
        settings: named === 'apiHeaderMs' ? { apiHeaderMs: 200 } : {},
      });
      expect(refusalIn(await dribble(api, text, 'a'))).toMatchObject({
        status,
        code: 'REQUEST_INVALID',
        message: expect.stringContaining(named),
      });
    },
  );
});

test('a client that does not read its answers is disconnected', async () => {
  const api = await startTestApi(database.url, { settings: { apiIdleMs: 200 } });
  const socket = await open(api);
  socket.pause();
  const ask = 'GET /api/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n';
  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => {
      api.server.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  socket.write(ask);
  await expect.poll(connections, WAIT).toBe(1);
  // More than the buffers of both ends can hold.
  socket.write(ask.repeat(200));
  await expect.poll(connections, WAIT).toBe(0);
  socket.destroy();
});
