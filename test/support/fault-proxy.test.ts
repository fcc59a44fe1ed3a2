import fc from 'fast-check';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FaultProxy, MessageSplitter, startFaultProxy } from './fault-proxy.ts';
import { testServerUrl } from './test-server-url.ts';

const serverUrl = testServerUrl();
const database = `fault_proxy_${process.pid}`;
const databaseUrl = Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href;

let direct: pg.Client;
let proxy: FaultProxy;

beforeAll(async () => {
  await onServer(`create database ${database}`);
  direct = await open(databaseUrl);
  await direct.query('create table probe (n int)');
});

afterAll(async () => {
  await direct.end();
  await onServer(`drop database ${database} with (force)`);
});

beforeEach(async () => {
  await direct.query('truncate probe');
  proxy = await startFaultProxy({ target: databaseUrl });
});

afterEach(async () => {
  proxy.disarm();
  await proxy.stop();
});

describe('cutAfterCommit', () => {
  test('commits the insert although the client gets an error', async () => {
    const client = await open(proxy.url);
    const fault = proxy.cutAfterCommit();
    await client.query('begin');
    await client.query('insert into probe values ($1)', [1]);
    await expect(client.query('commit')).rejects.toThrow(/ECONNRESET|terminated/);
    expect(await fault).toMatchObject({ fault: 'cutAfterCommit', sql: 'commit', reply: 'COMMIT' });
    expect(await storedNumbers()).toEqual([1]);
  });

  test('recognises a COMMIT of the extended protocol when its named statement is reused', async () => {
    const client = await open(proxy.url);
    const commit = { name: 'finish', text: 'COMMIT' };
    await client.query('begin');
    await client.query(commit);
    const fault = proxy.cutAfterCommit();
    await client.query('begin');
    await client.query('insert into probe values (2)');
    await expect(client.query(commit)).rejects.toThrow();
    await fault;
    expect(await storedNumbers()).toEqual([2]);
  });

  test('selects the transaction by any of its statements, and `times` limits the cuts', async () => {
    void proxy.cutAfterCommit({ match: (sql) => sql.includes('insert into probe'), times: 2 });
    const bystander = await open(proxy.url);
    for (const n of [1, 2, 3]) {
      await bystander.query('begin; select 1; commit');
      const client = await open(proxy.url);
      await client.query('begin');
      await client.query('insert into probe values ($1)', [n]);
      const commit = client.query('commit');
      if (n < 3) await expect(commit).rejects.toThrow();
      else await commit;
    }
    expect(proxy.fired.map((fault) => fault.fault)).toEqual(['cutAfterCommit', 'cutAfterCommit']);
    expect(await storedNumbers()).toEqual([1, 2, 3]);
  });

  test('lets a COMMIT pass that the server turned into a rollback, and stays armed', async () => {
    const client = await open(proxy.url);
    const fault = proxy.cutAfterCommit();
    await client.query('begin');
    await expect(client.query('select 1/0')).rejects.toThrow('division by zero');
    expect((await client.query('commit')).command).toBe('ROLLBACK');
    expect(proxy.fired).toEqual([]);
    await expect(client.query('begin; insert into probe values (4); commit')).rejects.toThrow();
    expect((await fault).reply).toBe('BEGIN, INSERT 0 1, COMMIT');
    expect(await storedNumbers()).toEqual([4]);
  });
});

test('cutBeforeCommit: the client gets an error and nothing is committed', async () => {
  const client = await open(proxy.url);
  const fault = proxy.cutBeforeCommit();
  await client.query('begin');
  await client.query('insert into probe values (1)');
  await expect(client.query('commit')).rejects.toThrow();
  await backendGone((await fault).backendPid);
  expect(await storedNumbers()).toEqual([]);
});

describe('cutOnReply', () => {
  test('executes an autocommit statement and swallows its reply', async () => {
    const client = await open(proxy.url);
    const fault = proxy.cutOnReply({ match: (sql) => sql.startsWith('insert') });
    await client.query("select 'insert'");
    await expect(client.query('insert into probe values ($1)', [5])).rejects.toThrow();
    expect(await fault).toMatchObject({ sql: 'insert into probe values ($1)', reply: 'INSERT 0 1' });
    expect(await storedNumbers()).toEqual([5]);
  });

  test('stores a COPY with large messages although its reply is swallowed', async () => {
    const client = await open(proxy.url);
    const fault = proxy.cutOnReply({ match: (sql) => /^copy/i.test(sql) });
    const copy = client.query(copyFrom('copy probe from stdin'));
    const failed = new Promise((resolve) => copy.on('error', resolve));
    copy.end('7\n'.repeat(500_000));
    expect((await fault).reply).toBe('COPY 500000');
    await failed;
    expect((await direct.query('select count(*)::int as n from probe')).rows).toEqual([{ n: 500_000 }]);
  });

  test('reports the failure of a statement as its reply', async () => {
    const client = await open(proxy.url);
    const fault = proxy.cutOnReply({ match: (sql) => sql.includes('1/0') });
    await expect(client.query('select 1/0')).rejects.toThrow(/ECONNRESET|terminated/);
    expect((await fault).reply).toBe('ERROR 22012');
  });
});

describe('a blackhole', () => {
  test('delivers the bytes it received when it is healed', async () => {
    const client = await open(proxy.url);
    proxy.blackhole();
    const insert = client.query('insert into probe values (1)');
    await heldSomething();
    expect(await storedNumbers()).toEqual([]);
    proxy.heal();
    await insert;
    expect(await storedNumbers()).toEqual([1]);
  });

  test('delivers a statement late even if its client has given up', async () => {
    const client = await open(proxy.url);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    proxy.blackhole();
    const insert = client.query('insert into probe values (2)');
    await heldSomething();
    const gaveUp = expect(insert).rejects.toThrow();
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    await gaveUp;
    expect(await storedNumbers()).toEqual([]);
    proxy.heal();
    await backendGone(rows[0]?.pid);
    expect(await storedNumbers()).toEqual([2]);
  });

  test('opened by a statement holds that statement and those of other connections', async () => {
    const [client, other] = [await open(proxy.url), await open(proxy.url)];
    const fault = proxy.blackholeAt((sql) => sql.startsWith('insert'));
    await client.query('begin');
    const insert = client.query('insert into probe values ($1)', [3]);
    expect(await fault).toMatchObject({ fault: 'blackhole', sql: 'insert into probe values ($1)' });
    const select = other.query('select 1 as one');
    expect(
      (
        await direct.query(
          `select state from pg_stat_activity where datname = current_database() and query = 'begin'`,
        )
      ).rows,
    ).toEqual([{ state: 'idle in transaction' }]);
    proxy.heal();
    await insert;
    await client.query('commit');
    expect((await select).rows).toEqual([{ one: 1 }]);
    expect(await storedNumbers()).toEqual([3]);
    expect(proxy.fired).toHaveLength(1);
  });

  test('also holds new connections', async () => {
    proxy.blackhole();
    const connecting = open(proxy.url);
    await heldSomething();
    proxy.heal();
    expect((await (await connecting).query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

test('delay slows every chunk and keeps their order', async () => {
  const client = await open(proxy.url);
  proxy.delay(40);
  const startedAt = performance.now();
  const answers = await Promise.all([client.query('select 1 as n'), client.query('select 2 as n')]);
  expect(answers.map(({ rows }) => rows[0].n)).toEqual([1, 2]);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(150);
  proxy.delay(0);
});

test('resetAll ends every connection and the next one works', async () => {
  const clients = [await open(proxy.url), await open(proxy.url)];
  const ended = clients.map((client) => new Promise((resolve) => client.once('end', resolve)));
  expect(proxy.resetAll()).toBe(2);
  await Promise.all(ended);
  expect(proxy.fired).toHaveLength(2);
  expect((await (await open(proxy.url)).query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

test('TLS is declined, so that the proxy can read', async () => {
  const client = new pg.Client({ connectionString: proxy.url, ssl: { rejectUnauthorized: false } });
  await expect(client.connect()).rejects.toThrow('does not support SSL');
});

test("stop rejects with 'void test' if a cut never fired", async () => {
  const unused = await startFaultProxy({ target: databaseUrl });
  void unused.cutBeforeCommit();
  await expect(unused.stop()).rejects.toThrow('void test: cutBeforeCommit was armed and never fired');
});

test('a database that is down looks like a reset to the client', async () => {
  const orphan = await startFaultProxy({ target: 'postgres://nobody@127.0.0.1:1/none' });
  await expect(open(orphan.url)).rejects.toThrow(/ECONNRESET|terminated/);
  await orphan.stop();
});

test('messages are found for any split into chunks', () => {
  const body = fc.uint8Array({ maxLength: 40 });
  fc.assert(
    fc.property(
      fc.array(body),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      (bodies, sizes) => {
        const messages = bodies.map((bytes) => {
          const length = Buffer.alloc(4);
          length.writeInt32BE(bytes.length + 4);
          return Buffer.concat([Buffer.from('d'), length, bytes]);
        });
        const splitter = new MessageSplitter('typed');
        const found: Buffer[] = [];
        let rest = Buffer.concat(messages);
        for (let turn = 0; rest.length > 0; turn++) {
          const size = sizes[turn % sizes.length];
          found.push(...splitter.push(rest.subarray(0, size)));
          rest = rest.subarray(size);
        }
        expect(found.map((message) => message.toString('hex'))).toEqual(
          messages.map((m) => m.toString('hex')),
        );
      },
    ),
  );
});

async function open(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function onServer(sql: string): Promise<void> {
  const client = await open(serverUrl);
  await client.query(sql);
  await client.end();
}

async function storedNumbers(): Promise<number[]> {
  const { rows } = await direct.query<{ n: number }>('select n from probe order by n');
  return rows.map((row) => row.n);
}

async function backendGone(pid: number | undefined): Promise<void> {
  await expect
    .poll(async () => (await direct.query('select from pg_stat_activity where pid = $1', [pid])).rowCount)
    .toBe(0);
}

async function heldSomething(): Promise<void> {
  await expect.poll(() => proxy.fired.map((fault) => fault.fault)).toEqual(['blackhole']);
}
