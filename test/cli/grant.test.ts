import { tmpdir } from 'node:os';
import pg from 'pg';
import { expect, test } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

test('a login gets the rights of a worker, and a missing, reserved or unprivileged login is reported', async () => {
  const login = `cli_${newId().slice(0, 8)}`;
  const grant = (...args: string[]) =>
    runCommand({ folder: tmpdir(), databaseUrl: database.url }, ['grant', ...args]);
  const missing = await grant('--worker', login);
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain(`there is no login ${login}`);
  const reserved = await grant('--worker', 'rowmill_worker');
  expect(reserved.code).toBe(1);
  expect(reserved.stderr).toContain('rowmill_worker is the role that grant creates');
  await database.query(`create role ${login} login password 'test'`);
  try {
    const url = new URL(database.url);
    url.username = login;
    url.password = 'test';
    const early = await runCommand({ folder: tmpdir(), databaseUrl: url.href }, ['jobs']);
    expect(early.code).toBe(1);
    expect(early.stderr).toContain('error: the database login lacks a privilege: permission denied for');
    expect(early.stderr).toContain('[DATABASE_FORBIDDEN]');
    expect(early.stderr).toContain('then `rowmill grant`, as the owner of the tables');
    const granted = await grant('--worker', login);
    expect(granted.stdout).toContain(`${login} has the rights of a worker`);
    expect(granted.code).toBe(0);
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    await client.query('select 1 from jobs');
    await expect(client.query('select 1 from users')).rejects.toMatchObject({ code: '42501' });
    await client.end();
  } finally {
    await database.query(`drop owned by ${login}`);
    await database.query(`drop role ${login}`);
  }
});
