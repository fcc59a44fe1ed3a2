import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forEveryInterleaving, interleavings, type Session } from './interleave.ts';
import { testServerUrl } from './test-server-url.ts';

const serverUrl = testServerUrl();
const database = `interleave_${process.pid}`;
const databaseUrl = Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href;

beforeAll(async () => {
  await execute(serverUrl, `create database ${database}`);
  await execute(databaseUrl, 'create table account (id int primary key, amount int not null)');
});

afterAll(() => execute(serverUrl, `drop database ${database} with (force)`));

describe('a read-modify-write by two sessions', () => {
  type Seen = Map<string, number>;

  function adder(name: string, read: string): Session<Seen> {
    return {
      name,
      steps: [
        { name: 'begin', run: (client) => client.query('begin') },
        {
          name: 'read',
          async run(client, seen) {
            const { rows } = await client.query<{ amount: number }>(read);
            seen.set(name, rows[0]!.amount);
          },
        },
        {
          name: 'write',
          run: (client, seen) =>
            client.query('update account set amount = $1 where id = 1', [seen.get(name)! + 10]),
        },
        { name: 'commit', run: (client) => client.query('commit') },
      ],
    };
  }

  const plain = 'select amount from account where id = 1';

  test('loses an update in some orders of READ COMMITTED and not in others', async () => {
    const amounts = new Map<string, number>();
    const runs = await forEveryInterleaving({
      everyOrder: true,
      databaseUrl,
      sessions: [adder('A', plain), adder('B', plain)],
      setup: seedAccounts,
      check: async (run, _seen, admin) => void amounts.set(run.order, await amountOf(admin, 1)),
    });
    expect(runs).toHaveLength(70);
    expect(new Set(amounts.values())).toEqual(new Set([10, 20]));
    expect(amounts.get('A.begin A.read A.write A.commit B.begin B.read B.write B.commit')).toBe(20);
    expect(amounts.get('A.begin A.read B.begin B.read A.write A.commit B.write B.commit')).toBe(10);
  });

  test('fails with an error that names the order, and that order can be replayed alone', async () => {
    const options = {
      databaseUrl,
      sessions: [adder('A', plain), adder('B', plain)],
      setup: seedAccounts,
      check: async (_run: unknown, _seen: Seen, admin: pg.Client) =>
        expect(await amountOf(admin, 1), 'sum of both additions').toBe(20),
    };
    const failure = await forEveryInterleaving({ ...options, everyOrder: true }).then(
      () => 'passed',
      (error: Error) => error.message,
    );
    expect(failure).toContain('sum of both additions');
    const only = /only: '(.+)'/.exec(failure)?.[1] ?? '';
    expect(only).toBe('A.begin A.read A.write B.begin B.read A.commit B.write B.commit');
    await expect(forEveryInterleaving({ everyOrder: true, ...options, only })).rejects.toThrow(only);
    const serial = 'B.begin B.read B.write B.commit A.begin A.read A.write A.commit';
    expect(await forEveryInterleaving({ everyOrder: true, ...options, only: serial })).toHaveLength(1);
  });

  test('loses nothing with SELECT FOR UPDATE, and its waits are reported', async () => {
    const runs = await forEveryInterleaving({
      everyOrder: true,
      databaseUrl,
      sessions: [adder('A', `${plain} for update`), adder('B', `${plain} for update`)],
      setup: seedAccounts,
      check: async (_run, _seen, admin) => expect(await amountOf(admin, 1)).toBe(20),
    });
    expect(runs.filter(({ blocked }) => blocked.length === 0)).not.toHaveLength(0);
    const crossing = runs.find(
      ({ order }) => order === 'A.begin A.read B.begin B.read B.write B.commit A.write A.commit',
    );
    expect(crossing).toMatchObject({
      blocked: ['B.read'],
      started: 'A.begin A.read B.begin B.read A.write A.commit B.write B.commit',
    });
  });
});

describe('two sessions that lock two rows in opposite order', () => {
  function locker(name: string, ids: number[]): Session<unknown> {
    return {
      name,
      steps: [
        { name: 'begin', run: (client) => client.query('begin') },
        ...ids.map((id) => ({
          name: `lock${id}`,
          run: (client: pg.Client) =>
            client.query('update account set amount = amount + 1 where id = $1', [id]),
        })),
        { name: 'commit', run: (client: pg.Client) => client.query('commit') },
      ],
    };
  }
  const options = {
    databaseUrl,
    sessions: [locker('A', [1, 2]), locker('B', [2, 1])],
    setup: seedAccounts,
  };

  test('fail as a deadlock that names step and order', async () => {
    const only = 'A.begin B.begin A.lock1 B.lock2 A.lock2 B.lock1 A.commit B.commit';
    const failing = forEveryInterleaving({ everyOrder: true, ...options, check() {}, only });
    await expect(failing).rejects.toThrow(/deadlock in (A\.lock2|B\.lock1): deadlock detected \(40P01\)/);
    await expect(failing).rejects.toThrow(only);
  });

  test('are counted if 40P01 is tolerated; the survivor commits and the other session changes nothing', async () => {
    const runs = await forEveryInterleaving({
      everyOrder: true,
      ...options,
      tolerate: ['40P01'],
      limit: 10,
      async check(run, _shared, admin) {
        const commits = 2 - run.deadlocks;
        expect([await amountOf(admin, 1), await amountOf(admin, 2)]).toEqual([commits, commits]);
      },
    });
    expect(new Set(runs.map(({ deadlocks }) => deadlocks))).toEqual(new Set([0, 1]));
  });

  test('fail as a deadlock if a session ends without releasing its lock', async () => {
    const careless = locker('A', [1]);
    careless.steps.pop();
    const sessions = [careless, locker('B', [1])];
    const only = 'A.begin A.lock1 B.begin B.lock1 B.commit';
    await expect(
      forEveryInterleaving({ everyOrder: true, ...options, sessions, check() {}, only }),
    ).rejects.toThrow('deadlock: B.lock1 waits for a lock that no remaining step releases');
  });
});

test('three sessions that queue on one row all finish, in every order', async () => {
  const sessions = ['A', 'B', 'C'].map(
    (name): Session<unknown> => ({
      name,
      steps: [
        {
          name: 'add',
          async run(client) {
            await client.query('begin');
            await client.query('update account set amount = amount + 1 where id = 1');
          },
        },
        { name: 'commit', run: (client) => client.query('commit') },
      ],
    }),
  );
  const runs = await forEveryInterleaving({
    everyOrder: true,
    databaseUrl,
    sessions,
    setup: seedAccounts,
    check: async (_run, _shared, admin) => expect(await amountOf(admin, 1)).toBe(3),
  });
  expect(runs).toHaveLength(90);
  expect(Math.max(...runs.map(({ blocked }) => blocked.length))).toBe(2);
});

test('an error ends its session, fails the run and does not affect the other session', async () => {
  const sessions: Session<unknown>[] = [
    {
      name: 'A',
      steps: [
        { name: 'fail', run: (client) => client.query('select 1/0') },
        { name: 'add', run: (client) => client.query('update account set amount = 100') },
      ],
    },
    { name: 'B', steps: [{ name: 'add', run: (client) => client.query('update account set amount = 1') }] },
  ];
  const options = { databaseUrl, sessions, setup: seedAccounts };
  await expect(forEveryInterleaving({ everyOrder: true, ...options, check() {} })).rejects.toThrow(
    'error in A.fail: division by zero (22012)',
  );
  const check = async (_run: unknown, _shared: unknown, admin: pg.Client) =>
    expect(await amountOf(admin, 1)).toBe(1);
  const runs = await forEveryInterleaving({ everyOrder: true, ...options, check, tolerate: ['22012'] });
  expect(runs.map(({ started }) => started)).toEqual(['A.fail B.add', 'A.fail B.add', 'B.add A.fail']);
});

test('a step that neither ends nor waits for a lock is named', async () => {
  const sessions: Session<undefined>[] = [
    { name: 'A', steps: [{ name: 'hang', run: () => new Promise(() => {}) }] },
  ];
  const options = { databaseUrl, sessions, setup: async () => undefined, check() {}, stepTimeoutMs: 50 };
  await expect(forEveryInterleaving(options)).rejects.toThrow(
    'A.hang neither ended nor waited for a lock within 50 ms',
  );
});

describe('interleavings', () => {
  const steps = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `s${at}` }));

  test('are all orders that keep the order of each session', () => {
    const orders = [
      ...interleavings([
        { name: 'A', steps: steps(2) },
        { name: 'B', steps: steps(1) },
      ]),
    ];
    expect(orders.map((order) => order.join(' '))).toEqual([
      'A.s0 A.s1 B.s0',
      'A.s0 B.s0 A.s1',
      'B.s0 A.s0 A.s1',
    ]);
  });

  test('beyond the limit are a sample of different orders that the seed repeats', () => {
    const sessions = ['A', 'B', 'C'].map((name) => ({ name, steps: steps(6) }));
    const sample = (seed: number) => [...interleavings(sessions, { limit: 50, seed })].map(String);
    expect(new Set(sample(7)).size).toBe(50);
    expect(sample(7)).toEqual(sample(7));
    expect(sample(7)).not.toEqual(sample(8));
  });

  test('refuse names that are ambiguous in a replay', () => {
    const twice = [{ name: 'A', steps: [{ name: 'x' }, { name: 'x' }] }];
    expect(() => [...interleavings(twice)]).toThrow("got 'A.x'");
  });

  test('to replay must contain every step in its order', async () => {
    const sessions: Session<unknown>[] = [
      { name: 'A', steps: [{ name: 'x', run: async () => {} }] },
      { name: 'B', steps: [{ name: 'y', run: async () => {} }] },
    ];
    const options = { databaseUrl, sessions, setup: seedAccounts, check() {} };
    await expect(forEveryInterleaving({ everyOrder: true, ...options, only: 'A.x' })).rejects.toThrow(
      "expected the order to hold 'B.y'",
    );
    await expect(forEveryInterleaving({ everyOrder: true, ...options, only: 'A.x B.y C.z' })).rejects.toThrow(
      "got 'C.z'",
    );
  });
});

async function seedAccounts(admin: pg.Client): Promise<Map<string, number>> {
  await admin.query('delete from account');
  await admin.query('insert into account values (1, 0), (2, 0)');
  return new Map();
}

async function amountOf(client: pg.Client, id: number): Promise<number> {
  const { rows } = await client.query<{ amount: number }>('select amount from account where id = $1', [id]);
  return rows[0]!.amount;
}

async function execute(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(sql);
  await client.end();
}
