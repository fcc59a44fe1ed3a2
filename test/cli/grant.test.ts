import { tmpdir } from 'node:os';
import pg from 'pg';
import { expect, test } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

test('a login gets the rights of a worker, and a missing login is reported', async () => {
  const login = `cli_${newId().slice(0, 8)}`;
  const grant = (...args: string[]) =>
    runCommand({ folder: tmpdir(), databaseUrl: database.url }, ['grant', ...args]);
  const missing = await grant('--worker', login);
  expect(missing.code).toBe(1);
  expect(missing.stderr).toContain(`there is no login ${login}`);
  await database.query(`create role ${login} login password 'test'`);
  try {
    const granted = await grant('--worker', login);
    expect(granted.stdout).toContain(`${login} has the rights of a worker`);
    expect(granted.code).toBe(0);
    const url = new URL(database.url);
    url.username = login;
    url.password = 'test';
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
