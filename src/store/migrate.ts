// Applies the SQL files of migrations/ in order: forward only, each in its own transaction together with its
// bookkeeping row, under one advisory lock, so any number of processes may start at the same time.
//
// The first line of a file may say `-- compatible from: 49`: programs whose newest migration is 49 still run after it, so
// old and new processes work side by side during an upgrade. The number is stored with the migration, because an older
// program does not have the file.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { backoffMs, halfJitter } from '../core/retries/backoff.ts';
import { waitMs } from '../platform/clock.ts';
import { databaseErrorText } from '../platform/database-error.ts';
import { driverClient } from '../platform/database-servers.ts';
import { randomFraction } from '../platform/random.ts';
import { ofRefusal } from '../platform/to-rowmill-error.ts';

export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url));
// "rowmill" in the two-key space of advisory locks: any constant that no other program uses.
const LOCK_KEYS = [0x726f_776d, 1];
const OLDEST_SERVER = 150_000;
const COMPATIBLE_FROM = /^-- compatible from: (\d{1,4})\r?\n/;
/**
 * While a statement waits for an exclusive lock, all later statements on that table wait behind it. So it waits briefly,
 * gives way, and tries again.
 */
const LOCK_TIMEOUT_MS = 1000;
const LOCK_TRIES = 60;
// The column is missing until a program that knows it has migrated.
export const LIST_APPLIED = `select version, name, checksum, (to_jsonb(m) ->> 'compatible_from')::int as "compatibleFrom"
  from rowmill_migrations m order by version`;
const LOCK_PAUSES = { firstMs: 200, capMs: 5000 };

export interface MigrationFile {
  version: number;
  name: string;
  text: string;
  checksum: string;
  /** The oldest newest migration of a program that runs after this one. */
  compatibleFrom: number;
}

export interface AppliedRow {
  version: number;
  name: string;
  checksum: string;
  /** Null if a program stored it that does not know the rule. */
  compatibleFrom: number | null;
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
      const version = Number.parseInt(file, 10);
      return {
        version,
        name: file.replace(/\.sql$/, ''),
        text,
        checksum: createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex'),
        compatibleFrom: Number(COMPATIBLE_FROM.exec(text)?.[1] ?? version),
      };
    });
}

export interface MigrateOptions {
  folder?: string;
  /** Called when a migration has to wait for a lock. */
  onLocked?: (name: string) => void;
}

export async function migrate(
  databaseUrl: string,
  { folder = MIGRATIONS_FOLDER, onLocked = () => {} }: MigrateOptions = {},
): Promise<MigrationReport> {
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
      version int primary key, name text not null, checksum text not null, applied_at timestamptz not null default now(),
      compatible_from int)`)
      // Two first starts may both find the table missing; the loser's error means that the table exists.
      .catch(ignoreConcurrentCreation);
    // For a table that an earlier program created.
    if (known.length > 0)
      await client.query('alter table rowmill_migrations add column if not exists compatible_from int');
    const applied: string[] = [];
    for (const file of files) {
      if (await applyWhenUnlocked(client, files, file, onLocked)) applied.push(file.name);
    }
    return { applied, version: files.at(-1)?.version ?? 0 };
  });
}

/** Throws unless the database has the schema of this program, or a later one that is compatible with it. */
export async function checkMigrated(databaseUrl: string, folder = MIGRATIONS_FOLDER): Promise<void> {
  const files = readMigrations(folder);
  await withClient(databaseUrl, async (client) => {
    const exists = await client.query(`select to_regclass('rowmill_migrations') is not null as ok`);
    const rows = exists.rows[0].ok ? await readApplied(client) : [];
    checkApplied(rows, files);
  });
}

/** Throws unless these migrations were applied, and no others than compatible ones. */
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

async function applyWhenUnlocked(
  client: pg.Client,
  files: MigrationFile[],
  file: MigrationFile,
  onLocked: (name: string) => void,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await applyOne(client, files, file);
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { code?: string };
      // lock_not_available or deadlock_detected: rows are being written.
      if (tries === LOCK_TRIES || (code !== '55P03' && code !== '40P01')) throw error;
      onLocked(file.name);
      await waitMs(backoffMs(LOCK_PAUSES, tries, halfJitter(randomFraction())));
    }
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
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query(file.text);
    await client.query(
      'insert into rowmill_migrations (version, name, checksum, compatible_from) values ($1, $2, $3, $4)',
      [file.version, file.name, file.checksum, file.compatibleFrom],
    );
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
  return (await client.query<AppliedRow>(LIST_APPLIED)).rows;
}

function refuseNewerOrChanged(rows: AppliedRow[], files: MigrationFile[]): void {
  for (const row of rows) {
    const file = files.find((candidate) => candidate.version === row.version);
    if (!file) {
      const own = files.at(-1)?.version ?? 0;
      if (row.compatibleFrom !== null && row.compatibleFrom <= own) continue;
      const needed = row.compatibleFrom ?? row.version;
      throw new RowmillError(
        'DATABASE_NEWER',
        `the database has migration ${row.name}, which needs a program with migration ${needed}; this one has ${own}`,
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
  const client = new (driverClient(databaseUrl))({
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
