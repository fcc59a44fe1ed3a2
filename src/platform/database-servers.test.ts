import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../test/support/free-port.ts';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { Database, type Statement } from './database.ts';
import { databaseErrorKind } from './database-error.ts';
import { readServerList, withoutPassword } from './database-servers.ts';

const database = useTestDatabase();
const opened: Database[] = [];
afterAll(async () => {
  for (const db of opened) await db.close();
});

const PID: Statement = { name: 'pid', text: 'select pg_backend_pid() as pid' };
const DEMOTE: Statement = {
  name: 'demote',
  text: 'set session characteristics as transaction read only',
};
const WRITE: Statement = { name: 'write', text: 'create table if not exists written (n int)' };

function open(url: string): Database {
  const options = { maxConnections: 1, applicationName: 'servers test', deadlineMs: 20_000 };
  const db = new Database({ url, ...options });
  opened.push(db);
  return db;
}

async function withDeadServer(url = database.url): Promise<string> {
  const parsed = new URL(url);
  return url.replace(parsed.host, `127.0.0.1:${await freePort()},${parsed.host}`);
}

describe('an address with several servers', () => {
  it('is read as libpq reads it', () => {
    const both = [
      { host: 'a', port: 5432 },
      { host: 'b', port: 5433 },
    ];
    const url = 'postgres://u:p%40@a:5432/db?sslmode=require';
    const at = 'postgres://u:p%40@a:5432,b:5433/db?sslmode=require&target_session_attrs=read-write';
    expect(readServerList(at)).toEqual({ url, servers: both });
    expect(readServerList('postgres:///db?host=a,b&port=5432,5433')?.servers).toEqual(both);
    expect(readServerList('postgres:///db?host=a,b&port=6000')?.servers).toEqual([
      { host: 'a', port: 6000 },
      { host: 'b', port: 6000 },
    ]);
    expect(readServerList('postgres://[::1],[::2]:6000/db')?.servers).toEqual([
      { host: '::1', port: null },
      { host: '::2', port: 6000 },
    ]);
  });

  it('leaves an address with one server to the driver', () => {
    for (const url of [
      'postgres://u:p@a:5432/db',
      'postgres:///db?host=/run/postgresql',
      '/run/postgresql db',
    ])
      expect(readServerList(url)).toBeNull();
  });

  it.each([
    ['postgres://a,b/db?target_session_attrs=standby', 'target_session_attrs=standby is not supported'],
    ['postgres://a,/db', 'empty or too long'],
    ['postgres://a,b:99999/db', '99999 is not a port'],
    ['postgres:///db?host=a,b,c&port=1,2', '3 hosts have 2 ports'],
  ])('refuses %s', (url, message) => {
    expect(() => readServerList(url)).toThrow(message);
  });

  it('is shown without its password', () => {
    expect(withoutPassword('postgres://u:p:x@a,b/db?x=1')).toBe('postgres://u@a,b/db?x=1');
    expect(withoutPassword('postgres://u:p@a,b/db', 'PASSWORD')).toBe('postgres://u:PASSWORD@a,b/db');
    expect(withoutPassword('postgres://u@a,b/db')).toBe('postgres://u@a,b/db');
  });
});

describe('a connection', () => {
  it('goes to the server that answers', async () => {
    const db = open(await withDeadServer());
    expect((await db.run(PID)).rows).toHaveLength(1);
  });

  it('is discarded after its server has become read-only', async () => {
    const db = open(database.url);
    await db.run(DEMOTE);
    await expect(db.run(WRITE)).rejects.toMatchObject({ code: '25006' });
    await db.run(WRITE);
  });

  it('is refused by read-only servers, with the reason of each', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.query(`alter database ${name} set default_transaction_read_only = on`);
    try {
      const db = open(await withDeadServer());
      const error = await db.run(PID).catch((thrown: unknown) => thrown);
      expect((error as Error).message).toMatch(
        /^no server accepts writes \(.*ECONNREFUSED.*; .*: the server is read-only\)$/,
      );
      expect(databaseErrorKind(error)).toBe('passing');
      await database.query(`alter database ${name} reset default_transaction_read_only`);
      await db.run(WRITE);
    } finally {
      await database.query(`alter database ${name} reset default_transaction_read_only`);
    }
  });

  it('reports a wrong database name as it is', async () => {
    const url = (await withDeadServer()).replace(/\/[^/]*$/, '/missing');
    await expect(open(url).run(PID)).rejects.toMatchObject({ code: '3D000' });
  });
});
