import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { Database, type DatabaseOptions, type Statement } from './database.ts';
import { databaseErrorKind } from './database-error.ts';
import { retryPassing } from './retry-passing.ts';

const database = useTestDatabase();
const opened: Database[] = [];
afterAll(async () => {
  for (const db of opened) await db.close();
});
beforeAll(async () => {
  await database.query('create table notes (id int primary key, body jsonb)');
});
beforeEach(async () => {
  await database.query('truncate notes');
});

const PID: Statement = { name: 'pid', text: 'select pg_backend_pid() as pid' };
const SLEEP: Statement = { name: 'sleep', text: 'select pg_sleep(60)' };
const ADD_NOTE: Statement = { name: 'add-note', text: 'insert into notes (id) values ($1)' };
const COPY_NOTES: Statement = { name: 'copy-notes', text: 'copy notes (id, body) from stdin' };
const DIVIDE: Statement = { name: 'divide', text: 'select 1 / $1::int as result' };
const DEALLOCATE: Statement = { name: 'deallocate', text: 'deallocate all' };
const PREPARED: Statement = {
  name: 'prepared',
  text: `select count(*) as count from pg_prepared_statements where not from_sql`,
};

/** One connection, so that the next call fails if the connection is lost or stuck. */
function open(options: Partial<DatabaseOptions> = {}): Database {
  const db = new Database({
    url: database.url,
    maxConnections: 1,
    applicationName: 'database test',
    deadlineMs: 20_000,
    ...options,
  });
  opened.push(db);
  return db;
}

async function pidOf(db: Database): Promise<number> {
  return (await db.run<{ pid: number }>(PID)).rows[0]!.pid;
}

async function noteIds(): Promise<number[]> {
  return (await database.query<{ id: number }>('select id from notes order by id')).map((row) => row.id);
}

describe('a deadline', () => {
  // Long enough to open a connection on a busy machine.
  const deadlineMs = 1000;
  const message = 'no answer within the deadline of 1000 ms';
  const connectedPidOf = (db: Database): Promise<number> => retryPassing(() => pidOf(db));

  it('destroys the connection of a statement, and the pool recovers', async () => {
    const db = open({ deadlineMs });
    const before = await connectedPidOf(db);
    const error = await db.run(SLEEP).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message });
    expect(databaseErrorKind(error)).toBe('passing');
    expect(await connectedPidOf(db)).not.toBe(before);
  });

  it('destroys the connection of a transaction, which leaves no changes', async () => {
    const db = open({ deadlineMs });
    const before = await connectedPidOf(db);
    const running = db.transaction(async (tx) => {
      await tx.run(ADD_NOTE, [1]);
      await tx.run(SLEEP);
    });
    await expect(running).rejects.toMatchObject({ message });
    expect(await connectedPidOf(db)).not.toBe(before);
    await database.query('select pg_terminate_backend($1)', [before]);
    expect(await noteIds()).not.toContain(1);
  });

  it('also ends the statement on the server, which releases its locks', async () => {
    const db = open({ deadlineMs });
    const before = await connectedPidOf(db);
    const running = db.transaction(async (tx) => {
      await tx.run(ADD_NOTE, [3]);
      await tx.run(SLEEP);
    });
    await expect(running).rejects.toMatchObject({ message });
    try {
      await open().transaction(async (tx) => {
        await tx.run({ name: 'limit', text: `set local lock_timeout = '15s'` });
        await tx.run(ADD_NOTE, [3]);
      });
    } finally {
      await database.query('select pg_terminate_backend($1)', [before]);
    }
  });

  it('destroys the connection of a copy that waits for a lock', async () => {
    const db = open({ deadlineMs });
    const holder = open();
    const before = await connectedPidOf(db);
    await holder.transaction(async (tx) => {
      await tx.run({ name: 'lock-notes', text: 'lock table notes in access exclusive mode' });
      await expect(db.transaction((waiting) => waiting.copy(COPY_NOTES, '2\t{}\n'))).rejects.toMatchObject({
        message,
      });
    });
    expect(await connectedPidOf(db)).not.toBe(before);
  });

  it('fails with a passing error if the server accepts and never responds', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(
      0,
      '127.0.0.1',
    );
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const db = open({ url: `postgres://u:p@127.0.0.1:${port}/d`, deadlineMs });
    const error = await db.run(PID).catch((thrown: unknown) => thrown);
    for (const socket of sockets) socket.destroy();
    silent.close();
    expect(error).toBeInstanceOf(Error);
    expect(databaseErrorKind(error)).toBe('passing');
  });
});

describe('a transaction', () => {
  it('is committed as a whole', async () => {
    const db = open();
    const value = await db.transaction(async (tx) => {
      await tx.run(ADD_NOTE, [10]);
      await tx.copy(COPY_NOTES, '11\t{"a": 1}\n12\t\\N\n');
      return 'value';
    });
    expect(value).toBe('value');
    expect(await noteIds()).toEqual(expect.arrayContaining([10, 11, 12]));
  });

  it('is rolled back when its work throws, and keeps the connection', async () => {
    const db = open();
    const before = await pidOf(db);
    const error = new Error('changed my mind');
    const running = db.transaction(async (tx) => {
      await tx.run(ADD_NOTE, [20]);
      throw error;
    });
    await expect(running).rejects.toBe(error);
    expect(await noteIds()).not.toContain(20);
    expect(await pidOf(db)).toBe(before);
  });

  it('is rolled back when the callback before the commit throws', async () => {
    const db = open();
    const running = db.transaction(
      (tx) => tx.run(ADD_NOTE, [21]),
      () => {
        throw new Error('fault');
      },
    );
    await expect(running).rejects.toThrow('fault');
    expect(await noteIds()).not.toContain(21);
  });

  it('fails at COMMIT if the work swallowed an error', async () => {
    const db = open();
    const before = await pidOf(db);
    const running = db.transaction(async (tx) => {
      await tx.run(ADD_NOTE, [30]);
      await tx.run(DIVIDE, [0]).catch(() => {});
    });
    await expect(running).rejects.toThrow('expected COMMIT, the server answered ROLLBACK');
    expect(await noteIds()).not.toContain(30);
    expect(await pidOf(db)).toBe(before);
  });

  it('leaves the connection usable after an error in a copy', async () => {
    const db = open();
    const before = await pidOf(db);
    for (const rows of [
      '40\t{"a": nonsense}\n',
      '40\n',
      'x\t{}\n',
      '40\t{"a": "\\\\u0000"}\n',
      '40\ta\0b\n',
    ]) {
      const error = await db
        .transaction((tx) => tx.copy(COPY_NOTES, rows))
        .catch((thrown: unknown) => thrown);
      expect(databaseErrorKind(error)).toBe('data');
      expect(await pidOf(db)).toBe(before);
    }
    await db.transaction((tx) => tx.copy(COPY_NOTES, '40\t{}\n'));
    expect(await noteIds()).toContain(40);
  });

  it('accepts a copy larger than any buffer', async () => {
    const db = open();
    const rows = Array.from({ length: 20_000 }, (_, i) => `${100_000 + i}\t{"text": "${'x'.repeat(300)}"}\n`);
    await db.transaction((tx) => tx.copy(COPY_NOTES, rows.join('')));
    const [counted] = await database.query('select count(*)::int as n from notes where id >= 100000');
    expect(counted).toEqual({ n: 20_000 });
  });
});

describe('a connection', () => {
  it('is reported and replaced when the server ends it', async () => {
    const errors: Error[] = [];
    let reported = (): void => {};
    const report = new Promise<void>((resolve) => {
      reported = resolve;
    });
    const db = open({
      onError: (error) => {
        errors.push(error);
        reported();
      },
    });
    const before = await pidOf(db);
    await database.query('select pg_terminate_backend($1)', [before]);
    await report;
    expect(errors[0]!.message).toContain('terminating connection');
    expect(await retryPassing(() => pidOf(db))).not.toBe(before);
  });

  it('fails with a passing error when the server ends it during a statement', async () => {
    const db = open({ maxConnections: 2 });
    const running = db.transaction(async (tx) => {
      const { rows } = await tx.run<{ pid: number }>(PID);
      await database.query('select pg_terminate_backend($1)', [rows[0]!.pid]);
      await tx.run(PID);
    });
    expect(databaseErrorKind(await running.catch((thrown: unknown) => thrown))).toBe('passing');
    expect(await pidOf(db)).toBeGreaterThan(0);
  });

  it('plans statements once and does not compile them', async () => {
    const db = open();
    const shown = await db.runArrays({
      name: 'show',
      text: `select current_setting('plan_cache_mode'), current_setting('jit')`,
    });
    expect(shown).toEqual([['force_generic_plan', 'off']]);
  });

  it('reads bigint as a number', async () => {
    expect(await open().runArrays({ name: 'big', text: 'select 9007199254740991::bigint' })).toEqual([
      [9007199254740991],
    ]);
  });
});

describe('a named statement', () => {
  it('is prepared once', async () => {
    const db = open();
    await db.run(DIVIDE, [1]);
    await db.run(DIVIDE, [2]);
    await db.runArrays(DIVIDE, [1]);
    expect((await db.run(PREPARED)).rows).toEqual([{ count: 2 }]);
  });

  it('works at the next attempt after the server lost it, and names are no longer used', async () => {
    const db = open();
    await db.run(DIVIDE, [1]);
    await db.run(DEALLOCATE);
    const retried: unknown[] = [];
    const result = await retryPassing(() => db.run(DIVIDE, [1]), {
      baseMs: 0,
      onRetry: (error) => retried.push((error as { code: string }).code),
    });
    expect(result.rows).toEqual([{ result: 1 }]);
    expect(retried).toEqual(['26000']);
    await db.run(PID);
    expect((await db.run(PREPARED)).rows).toEqual([{ count: 0 }]);
  });

  it('works at the next attempt if another client of the pooler uses its name', async () => {
    const db = open();
    await db.run({ name: 'take', text: 'prepare divide as select 5' });
    const result = await retryPassing(() => db.run(DIVIDE, [1]), { baseMs: 0 });
    expect(result.rows).toEqual([{ result: 1 }]);
  });

  it('fails a transaction if the server lost it, and the transaction works at the next attempt', async () => {
    const db = open();
    await db.run(ADD_NOTE, [50]);
    await db.run(DEALLOCATE);
    await retryPassing(() => db.transaction((tx) => tx.run(ADD_NOTE, [51])), { baseMs: 0 });
    expect(await noteIds()).toEqual(expect.arrayContaining([50, 51]));
  });
});
