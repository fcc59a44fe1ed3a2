// The part of the doctor that looks at the server, on a server of its own with bad settings, a slot and an open
// transaction.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DatabaseCheck } from '../../src/core/health/check-database.ts';
import type { Diagnosis } from '../../src/engine/jobs/diagnose.ts';
import { Database } from '../../src/platform/database.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { indexesOfMigrations } from '../../src/store/indexes-of-migrations.ts';
import { migrate } from '../../src/store/migrate.ts';
import { listHeldTransactions } from '../../src/store/views/health/read-database-facts.ts';
import { runCommand } from '../support/run-command.ts';

let folder: string;
let server: EmbeddedPostgres;
let client: pg.Client;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-doctor-'));
  server = await startEmbeddedPostgres({
    dataDir: join(folder, 'data'),
    settings: {
      wal_level: 'replica',
      max_wal_senders: '1',
      autovacuum: 'off',
      synchronous_commit: 'off',
      max_prepared_transactions: '2',
      lock_timeout: '50',
      fsync: 'off',
    },
  });
  await migrate(server.url);
  client = new pg.Client({ connectionString: server.url, application_name: 'my report' });
  await client.connect();
});

afterAll(async () => {
  await client?.end();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function doctor(
  ...args: string[]
): Promise<{ code: number | null; checks: Record<string, DatabaseCheck> }> {
  const { code, stdout } = await runCommand({ folder, databaseUrl: server.url }, [
    'doctor',
    '--json',
    ...args,
  ]);
  const { database } = JSON.parse(stdout) as Diagnosis;
  return { code, checks: Object.fromEntries(database.map((check) => [check.check, check])) };
}

const findings = (check: DatabaseCheck | undefined): string[] =>
  check!.findings.map(({ finding }) => finding);

test('reports bad settings, slots, indexes and tables, and says what to do', async () => {
  await client.query(`select pg_create_physical_replication_slot('forgotten', true)`);
  await client.query('drop index jobs_claimable');
  await client.query('alter table spans set (autovacuum_enabled = off)');
  await client.query('insert into owners (owner_id) select n::text from generate_series(1, 120000) n');
  await client.query('delete from owners');
  await client.query('select pg_stat_force_next_flush()');
  const { code, checks } = await doctor();
  expect(code).toBe(1);
  expect(Object.values(checks).map(({ unchecked }) => unchecked)).toEqual(Array(8).fill(null));
  expect(checks.server!.says).toMatch(/^PostgreSQL 18/);
  expect(findings(checks.server)).toEqual([]);
  expect(findings(checks.settings).map((text) => text.split(':')[0])).toEqual([
    'fsync is off',
    'autovacuum is off',
    'synchronous_commit is off',
    'lock_timeout is 50',
  ]);
  expect(findings(checks.replication)[0]).toContain('the replication slot forgotten is not in use');
  expect(findings(checks.indexes)).toEqual(['the index jobs_claimable is missing']);
  expect(findings(checks.tables)).toEqual([
    'the table owners has 120000 dead rows beside 0 (last vacuum: never)',
    'autovacuum is off for the table spans',
  ]);
  expect(checks.size!.says).toContain('largest tables: ');

  const { stdout } = await runCommand({ folder, databaseUrl: server.url }, ['doctor']);
  expect(stdout).toMatch(/^BROKEN +indexes: .*\n +the index jobs_claimable is missing\n +What to do: /m);
  expect(stdout).toMatch(/^WARNING +replication: 1 replication slots$/m);
});

test('sees transactions that other sessions and prepared commits keep open', async () => {
  await client.query('begin');
  await client.query('select 1');
  const other = new pg.Client({ connectionString: server.url });
  await other.connect();
  await other.query(`begin; insert into owners (owner_id) values ('x'); prepare transaction 'left over'`);
  const db = new Database({
    url: server.url,
    maxConnections: 1,
    applicationName: 'test',
    deadlineMs: 60_000,
  });
  try {
    const held = await listHeldTransactions(db);
    expect(held.map(({ holder, state }) => [holder.replace(/\d+/, 'n'), state])).toEqual([
      ['session n of my report', 'idle in transaction'],
      ["the prepared transaction 'left over'", 'prepared'],
    ]);
    await other.query(held[1]!.endWith);
    await client.query('rollback');
    expect(await listHeldTransactions(db)).toEqual([]);
  } finally {
    await db.close();
    await other.end();
  }
});

test('the migrations name every index that they create', async () => {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_index x join pg_class c on c.oid = x.indexrelid
     where c.relnamespace = 'public'::regnamespace and not c.relispartition and not exists (select from pg_constraint k where k.conindid = c.oid)
     union select 'jobs_claimable' order by 1`,
  );
  expect(indexesOfMigrations()).toEqual(rows.map(({ name }) => name).sort());
});
