import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import pg from 'pg';
import { expect, test } from 'vitest';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { Database } from './database.ts';
import { isThroughPooler } from './is-through-pooler.ts';

const database = useTestDatabase();
/** Type and length of BackendKeyData, which precede the process id. */
const KEY_DATA = Buffer.from([0x4b, 0, 0, 0, 12]);

/** Sends clients another process id, as poolers do, and forwards everything else. */
async function startPretender(): Promise<{ url: string; close(): void }> {
  const target = new URL(database.url);
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.pipe(upstream);
    upstream.on('data', (chunk) => {
      const at = chunk.indexOf(KEY_DATA);
      if (at >= 0) chunk[at + KEY_DATA.length + 3]! ^= 1;
      client.write(chunk);
    });
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    for (const socket of [client, upstream]) socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(database.url);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: url.href, close: () => server.close() };
}

async function ask(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await isThroughPooler(client);
  } finally {
    await client.end();
  }
}

test('the server itself is not a pooler', async () => {
  expect(await ask(database.url)).toBe(false);
});

test('behind a pooler statements have no names, and each runs with the session parameters', async () => {
  const pretender = await startPretender();
  try {
    expect(await ask(pretender.url)).toBe(true);
    const db = new Database({
      url: pretender.url,
      maxConnections: 1,
      applicationName: 'test',
      deadlineMs: 20_000,
      keyedAccess: true,
    });
    const show = {
      name: 'show',
      text: `select current_setting('statement_timeout') as timeout, current_setting('enable_seqscan') as scans,
             (select count(*)::int from pg_prepared_statements) as prepared`,
    };
    const expected = [{ timeout: '21s', scans: 'off', prepared: 0 }];
    expect((await db.run(show)).rows).toEqual(expected);
    expect((await db.run(show)).rows).toEqual(expected);
    expect(await db.transaction(async (tx) => (await tx.run(show)).rows)).toEqual(expected);
    await expect(db.run({ name: 'bad', text: 'select 1 / 0' })).rejects.toThrow('division by zero');
    expect((await db.run(show)).rows).toEqual(expected);
    await db.close();
  } finally {
    pretender.close();
  }
});
