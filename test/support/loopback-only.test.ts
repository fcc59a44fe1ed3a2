import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns';
import { lookup as lookupPromised } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

/** Reserved for documentation: no machine has it, even if the guard fails. */
const OUTSIDE = '192.0.2.1';

describe('the guard of the test run', () => {
  let folder: string;
  const before = process.env.TEST_REFUSED_SOCKETS;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rowmill-refused-'));
    process.env.TEST_REFUSED_SOCKETS = join(folder, 'refused');
    writeFileSync(join(folder, 'refused'), '');
  });
  afterEach(() => {
    process.env.TEST_REFUSED_SOCKETS = before;
    rmSync(folder, { recursive: true });
  });
  const refused = () => readFileSync(join(folder, 'refused'), 'utf8');

  test('refuses an address outside loopback and records it', async () => {
    const [error] = await once(connect(443, OUTSIDE), 'close').catch((reason: unknown) => [reason]);
    expect(error).toMatchObject({ message: `tests connect to loopback addresses only, got ${OUTSIDE}` });
    expect(refused()).toContain(OUTSIDE);
  });

  test("refuses an address that the caller's own lookup returns", async () => {
    const socket = connect({
      host: 'shop.example',
      port: 443,
      lookup: (_name, _options, answer) => answer(null, [{ address: OUTSIDE, family: 4 }]),
    });
    const [error] = await once(socket, 'error');
    expect(error).toMatchObject({ message: expect.stringContaining(OUTSIDE) });
    expect(refused()).toContain(OUTSIDE);
  });

  test('refuses fetch and datagrams', async () => {
    await expect(fetch(`http://${OUTSIDE}/`)).rejects.toThrow();
    const socket = createSocket('udp4');
    expect(() => socket.send('x', 53, OUTSIDE)).toThrow(OUTSIDE);
    socket.close();
    expect(refused().match(/loopback addresses only/g)).toHaveLength(2);
  });

  test('applies to child processes', async () => {
    const script = `require('node:net').connect(443, '${OUTSIDE}').on('error', (error) => console.log(error.message))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
    expect(stdout).toContain('loopback addresses only');
  });

  test('resolves localhost and literal addresses, and no other name', async () => {
    expect((await lookupPromised('localhost')).address).toMatch(/^(127\.0\.0\.1|::1)$/);
    await expect(lookupPromised('example.org')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    const error = await new Promise((resolve) => lookup('example.org', resolve));
    expect(error).toMatchObject({ code: 'ENOTFOUND' });
  });

  test('lets loopback through', async () => {
    const server = createServer((socket) => socket.end('hello'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as { port: number };
    const [said] = await once(connect(port, '127.0.0.1'), 'data');
    expect(String(said)).toBe('hello');
    server.close();
    expect(refused()).toBe('');
  });
});
