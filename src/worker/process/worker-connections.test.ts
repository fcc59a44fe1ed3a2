import { expect, it } from 'vitest';
import { silentLogger } from '../../../test/support/silent-logger.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { openConnections } from './worker-connections.ts';

const database = useTestDatabase();
// The test server does not wait for the disk, so the source of the setting shows who chose it.
const SHOW = {
  name: 'show-synchronous-commit',
  text: `select setting = 'off' and source in ('client', 'session') from pg_settings where name = 'synchronous_commit'`,
};

it('waits for the disk when it writes results, but not when it claims', async () => {
  const { db, ...context } = database.context();
  const { claims, flushes, control } = openConnections(db.url, context, silentLogger);
  const all = [claims, flushes, control];
  const isAsync = await Promise.all(all.map(async (each) => (await each.db.runArrays(SHOW))[0]![0]));
  await Promise.all(all.map((each) => each.db.close()));
  expect(isAsync).toEqual([true, false, false]);
});
