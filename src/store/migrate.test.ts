import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testServerUrl } from '../../test/support/test-server-url.ts';
import { newId } from '../platform/random.ts';
import { checkMigrated, migrate, readMigrations } from './migrate.ts';

const folder = mkdtempSync(join(tmpdir(), 'rowmill-migrations-'));
const created: string[] = [];
let admin: pg.Client;
let url: string;

beforeAll(async () => {
  admin = new pg.Client({ connectionString: testServerUrl() });
  await admin.connect();
});

// Every test has its own empty database and its own folder with two migrations.
beforeEach(async () => {
  const name = `rowmill_test_${newId().slice(0, 8)}`;
  await admin.query(`create database ${name} template template0`);
  created.push(name);
  const target = new URL(testServerUrl());
  target.pathname = `/${name}`;
  url = target.href;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  addMigration('0001_create_pears.sql', 'create table pears (id int);');
  addMigration('0002_create_plums.sql', 'create table plums (id int); insert into plums values (1);');
});

afterAll(async () => {
  for (const name of created) await admin.query(`drop database ${name} with (force)`);
  await admin.end();
  rmSync(folder, { recursive: true, force: true });
});

function addMigration(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function tables(): Promise<unknown[]> {
  const rows = await query(`select tablename from pg_tables where schemaname = 'public' order by 1`);
  return rows.map((row) => row.tablename);
}

describe('the migrations of Rowmill', () => {
  it('are numbered from 1 without gaps, and named number, verb, object', () => {
    const files = readMigrations();
    expect(files.map((file) => file.version)).toEqual(files.map((_, i) => i + 1));
    for (const { name } of files) expect(name).toMatch(/^\d{4}_[a-z]+(_[a-z]+)+$/);
  });

  it('bring an empty database to the schema, and a second run changes nothing', async () => {
    const names = readMigrations().map((file) => file.name);
    const { version } = readMigrations().at(-1)!;
    expect(await migrate(url)).toEqual({ applied: names, version });
    const before = await query('select * from rowmill_migrations order by version');
    expect(await migrate(url)).toEqual({ applied: [], version });
    expect(await query('select * from rowmill_migrations order by version')).toEqual(before);
    expect(await tables()).toEqual(
      expect.arrayContaining(['items', 'jobs', 'ledger', 'result_rows', 'spans']),
    );
    await checkMigrated(url);
  });

  it('keep the results of a database from before they were stored in blocks', async () => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const { name, text, version } of readMigrations())
      if (version < 45) addMigration(`${name}.sql`, text);
    await migrate(url, { folder });
    await query(`insert into results (job_id, seq, generation, phase, attempt, status, handler_ms, result, error, signature, cost)
      select '00000000-0000-7000-8000-000000000001', n, 1, 0, 2, case when n % 7 = 0 then 'ERROR' else 'DONE' end::item_status, n,
        jsonb_build_object('n', n), case when n % 7 = 0 then 'no answer' end, null, 0.5 from generate_series(0, 999) as n`);
    const before = await query('select * from results order by seq');
    await migrate(url);
    expect(await query('select * from results order by seq')).toEqual(before);
    expect(await query('select count(*)::int as n from result_rows')).toEqual([{ n: 1000 }]);
  });

  // Several rounds, each on an empty database, because the step at which the five meet is random.
  it.each([1, 2, 3, 4])('are applied once when five processes start at the same time (%d)', async () => {
    const reports = await Promise.all(Array.from({ length: 5 }, () => migrate(url)));
    const names = readMigrations().map((file) => file.name);
    expect(reports.flatMap((report) => report.applied).sort()).toEqual(names);
    expect(new Set(reports.map((report) => report.version))).toEqual(
      new Set([readMigrations().at(-1)!.version]),
    );
    await checkMigrated(url);
  });
});

describe('a migration', () => {
  it('that was added later is the only one applied', async () => {
    await migrate(url, { folder });
    addMigration('0003_create_figs.sql', 'create table figs (id int);');
    expect(await migrate(url, { folder })).toEqual({ applied: ['0003_create_figs'], version: 3 });
  });

  it('that fails is rolled back completely, and earlier ones stay', async () => {
    addMigration('0003_create_figs.sql', 'create table figs (id int); select 1 / 0;');
    await expect(migrate(url, { folder })).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      message: 'migration 0003_create_figs failed: division by zero',
    });
    expect(await tables()).toEqual(['pears', 'plums', 'rowmill_migrations']);
    expect(await query('select version from rowmill_migrations order by version')).toEqual([
      { version: 1 },
      { version: 2 },
    ]);
    addMigration('0003_create_figs.sql', 'create table figs (id int);');
    expect((await migrate(url, { folder })).applied).toEqual(['0003_create_figs']);
  });

  it('that was edited after it was applied is refused, and nothing is applied', async () => {
    await migrate(url, { folder });
    addMigration('0001_create_pears.sql', 'create table pears (id bigint);');
    addMigration('0003_create_figs.sql', 'create table figs (id int);');
    const refusal = {
      code: 'MIGRATION_CHANGED',
      message: 'migration 0001_create_pears differs from the one that was applied',
    };
    await expect(migrate(url, { folder })).rejects.toMatchObject(refusal);
    await expect(checkMigrated(url, folder)).rejects.toMatchObject(refusal);
    expect(await tables()).not.toContain('figs');
  });

  it('that differs only in its line endings is the same', async () => {
    addMigration('0003_create_nuts.sql', 'create table nuts (\n  id int\n);\n');
    await migrate(url, { folder });
    addMigration('0003_create_nuts.sql', 'create table nuts (\r\n  id int\r\n);\r\n');
    expect(await migrate(url, { folder })).toEqual({ applied: [], version: 3 });
  });

  it('that this program does not know is refused: the database is newer', async () => {
    await migrate(url, { folder });
    await query(`insert into rowmill_migrations values (9, '0009_create_future', 'x')`);
    addMigration('0003_create_figs.sql', 'create table figs (id int);');
    const refusal = {
      code: 'DATABASE_NEWER',
      message:
        'the database has migration 0009_create_future, which needs a program with migration 9; this one has 3',
    };
    await expect(migrate(url, { folder })).rejects.toMatchObject(refusal);
    await expect(checkMigrated(url, folder)).rejects.toMatchObject(refusal);
    expect(await tables()).not.toContain('figs');
  });
});

describe('an older program', () => {
  const olderFiles = (): void => {
    for (const file of ['0003_add_weight.sql', '0004_drop_plums.sql'])
      rmSync(join(folder, file), { force: true });
  };

  it('runs after a migration that is compatible with it, and refuses the next one', async () => {
    await migrate(url, { folder });
    addMigration(
      '0003_add_weight.sql',
      '-- compatible from: 2\n-- Null: unknown.\nalter table pears add column weight int;',
    );
    expect((await migrate(url, { folder })).applied).toEqual(['0003_add_weight']);
    olderFiles();
    await checkMigrated(url, folder);
    expect(await migrate(url, { folder })).toEqual({ applied: [], version: 2 });

    addMigration(
      '0003_add_weight.sql',
      '-- compatible from: 2\n-- Null: unknown.\nalter table pears add column weight int;',
    );
    addMigration('0004_drop_plums.sql', '-- compatible from: 3\ndrop table plums;');
    await migrate(url, { folder });
    olderFiles();
    const refusal = {
      code: 'DATABASE_NEWER',
      message:
        'the database has migration 0004_drop_plums, which needs a program with migration 3; this one has 2',
    };
    await expect(checkMigrated(url, folder)).rejects.toMatchObject(refusal);
    await expect(migrate(url, { folder })).rejects.toMatchObject(refusal);
  });

  it('may have created the table of migrations without this rule', async () => {
    await query(`create table rowmill_migrations (version int primary key, name text not null, checksum text not null,
      applied_at timestamptz not null default now())`);
    await query(
      `insert into rowmill_migrations select 1, '0001_create_pears', '${readMigrations(folder)[0]!.checksum}'`,
    );
    await query('create table pears (id int)');
    expect((await migrate(url, { folder })).applied).toEqual(['0002_create_plums']);
    await checkMigrated(url, folder);
  });
});

describe('a migration of a table in use', () => {
  it('gives way to others while it waits for its lock, and tries again', async () => {
    await migrate(url, { folder });
    addMigration('0003_add_weight.sql', 'alter table pears add column weight int;');
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    await holder.query('begin; lock table pears in row exclusive mode');
    let locked = 0;
    const report = await migrate(url, {
      folder,
      onLocked: () => {
        locked += 1;
        // A writer gets in between two attempts.
        if (locked === 1) void query('insert into pears values (1)').then(() => holder.query('commit'));
      },
    });
    expect(locked, 'void: the migration did not wait').toBeGreaterThan(0);
    expect(report.applied).toEqual(['0003_add_weight']);
    expect(await query('select * from pears')).toEqual([{ id: 1, weight: null }]);
    await holder.end();
  });
});

describe('the check at the start of a program', () => {
  it('names every migration that an empty database lacks, and changes nothing', async () => {
    await expect(checkMigrated(url, folder)).rejects.toMatchObject({
      code: 'DATABASE_NOT_MIGRATED',
      status: 503,
      message: 'the database lacks 0001_create_pears, 0002_create_plums',
      hint: 'Run `rowmill migrate`.',
    });
    expect(await tables()).toEqual([]);
  });

  it('names only what is missing', async () => {
    await migrate(url, { folder });
    addMigration('0003_create_figs.sql', 'create table figs (id int);');
    await expect(checkMigrated(url, folder)).rejects.toMatchObject({
      message: 'the database lacks 0003_create_figs',
    });
  });

  it('accepts a database with exactly these migrations', async () => {
    await migrate(url, { folder });
    await checkMigrated(url, folder);
  });

  it('reports an unreachable server', async () => {
    for (const run of [checkMigrated, migrate]) {
      await expect(run('postgres://nobody:secret@127.0.0.1:1/none')).rejects.toMatchObject({
        code: 'DATABASE_UNREACHABLE',
        message: expect.stringContaining('cannot connect to PostgreSQL: connect ECONNREFUSED'),
      });
    }
  });

  it('does not print the password when it cannot connect', async () => {
    const error = await checkMigrated('postgres://nobody:secret@127.0.0.1:1/none').catch(String);
    expect(error).not.toContain('secret');
  });
});
