// Applies the SQL files of migrations/ in order: forward only, each in its own transaction together with its
// bookkeeping row, under one advisory lock, so any number of processes may start at the same time.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { databaseErrorText } from '../platform/database-error.ts';
import { clientOf } from '../platform/database-servers.ts';
import { ofRefusal } from '../platform/to-rowmill-error.ts';

export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url));
// "rowmill" in the two-key space of advisory locks: any constant that no other program uses.
const LOCK_KEYS = [0x726f_776d, 1];
const OLDEST_SERVER = 150_000;

export interface MigrationFile {
  version: number;
  name: string;
  text: string;
  checksum: string;
}

export interface AppliedRow {
  version: number;
  name: string;
  checksum: string;
}

export interface MigrationReport {
  applied: string[];
  version: number;
}

export function readMigrations(folder = MIGRATIONS_FOLDER): MigrationFile[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const text = readFileSync(`${folder}/${file}`, 'utf8');
      return {
        version: Number.parseInt(file, 10),
        name: file.replace(/\.sql$/, ''),
        text,
        checksum: createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex'),
      };
    });
}

export async function migrate(databaseUrl: string, folder = MIGRATIONS_FOLDER): Promise<MigrationReport> {
  const files = readMigrations(folder);
  return withClient(databaseUrl, async (client) => {
    // Reading is enough to find that nothing is missing, and the roles of workers and the API can only read.
    const begun = await client.query(`select to_regclass('rowmill_migrations') is not null as ok`);
    const known = begun.rows[0].ok ? await readApplied(client) : [];
    refuseNewerOrChanged(known, files);
    if (files.every((file) => known.some((row) => row.version === file.version)))
      return { applied: [], version: files.at(-1)?.version ?? 0 };
    await client
      .query(`create table if not exists rowmill_migrations (
      version int primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`)
      // Two first starts may both find the table missing; the loser's error means that the table exists.
      .catch(ignoreConcurrentCreation);
    const applied: string[] = [];
    for (const file of files) {
      if (await applyOne(client, files, file)) applied.push(file.name);
    }
    return { applied, version: files.at(-1)?.version ?? 0 };
  });
}

/** Throws unless the database has exactly the schema that this program expects. */
export async function checkMigrated(databaseUrl: string, folder = MIGRATIONS_FOLDER): Promise<void> {
  const files = readMigrations(folder);
  await withClient(databaseUrl, async (client) => {
    const exists = await client.query(`select to_regclass('rowmill_migrations') is not null as ok`);
    const rows = exists.rows[0].ok ? await readApplied(client) : [];
    checkApplied(rows, files);
  });
}

/** Throws unless exactly these migrations were applied. */
export function checkApplied(rows: AppliedRow[], files: MigrationFile[]): void {
  refuseNewerOrChanged(rows, files);
  const missing = files.filter((file) => !rows.some((row) => row.version === file.version));
  if (missing.length > 0) {
    throw new RowmillError(
      'DATABASE_NOT_MIGRATED',
      `the database lacks ${missing.map((m) => m.name).join(', ')}`,
    );
  }
}

async function applyOne(client: pg.Client, files: MigrationFile[], file: MigrationFile): Promise<boolean> {
  await client.query('begin');
  try {
    // Held until commit: a second migrator waits here and then finds the row.
    await client.query('select pg_advisory_xact_lock($1, $2)', LOCK_KEYS);
    const rows = await readApplied(client);
    refuseNewerOrChanged(rows, files);
    if (rows.some((row) => row.version === file.version)) {
      await client.query('commit');
      return false;
    }
    await client.query(file.text);
    await client.query('insert into rowmill_migrations (version, name, checksum) values ($1, $2, $3)', [
      file.version,
      file.name,
      file.checksum,
    ]);
    await client.query('commit');
    return true;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    if (error instanceof RowmillError) throw error;
    throw new RowmillError('MIGRATION_FAILED', `migration ${file.name} failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function readApplied(client: pg.Client): Promise<AppliedRow[]> {
  return (
    await client.query<AppliedRow>('select version, name, checksum from rowmill_migrations order by version')
  ).rows;
}

function refuseNewerOrChanged(rows: AppliedRow[], files: MigrationFile[]): void {
  for (const row of rows) {
    const file = files.find((candidate) => candidate.version === row.version);
    if (!file) {
      throw new RowmillError(
        'DATABASE_NEWER',
        `the database has migration ${row.name}, which this program does not know`,
      );
    }
    if (file.checksum !== row.checksum) {
      throw new RowmillError(
        'MIGRATION_CHANGED',
        `migration ${row.name} differs from the one that was applied`,
      );
    }
  }
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new (clientOf(databaseUrl))({
    connectionString: databaseUrl,
    application_name: 'rowmill migrate',
    connectionTimeoutMillis: 15_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (cause) {
    const refusal = ofRefusal(cause);
    if (refusal) throw refusal;
    throw new RowmillError(
      'DATABASE_UNREACHABLE',
      `cannot connect to PostgreSQL: ${databaseErrorText(cause)}`,
      { cause },
    );
  }
  try {
    const version = Number((await client.query(`show server_version_num`)).rows[0].server_version_num);
    if (version < OLDEST_SERVER) {
      throw new RowmillError(
        'DATABASE_TOO_OLD',
        `expected PostgreSQL 15 or newer, got ${Math.floor(version / 10_000)}`,
      );
    }
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

function ignoreConcurrentCreation(error: { code?: string }): void {
  // unique_violation, duplicate_table or duplicate_object, depending on the step at which the two meet.
  if (!['23505', '42P07', '42710'].includes(error.code ?? '')) throw error;
}
