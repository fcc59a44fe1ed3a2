import type { Executor, Statement } from '../../../platform/database.ts';
import {
  type AppliedRow,
  checkApplied,
  LIST_APPLIED,
  type MigrationFile,
  readMigrations,
} from '../../migrate.ts';

const LIST_MIGRATIONS: Statement = {
  name: 'list-migrations',
  text: LIST_APPLIED,
};

const UNDEFINED_TABLE = '42P01';

let files: MigrationFile[] | null = null;

/** Throws unless the database has the schema of this program. Uses connections that are already open. */
export async function checkSchema(db: Executor): Promise<void> {
  files ??= readMigrations();
  checkApplied(await readApplied(db), files);
}

async function readApplied(db: Executor): Promise<AppliedRow[]> {
  try {
    return (await db.run<AppliedRow & Record<string, unknown>>(LIST_MIGRATIONS)).rows;
  } catch (error) {
    // The database was never migrated.
    if ((error as { code?: unknown }).code === UNDEFINED_TABLE) return [];
    throw error;
  }
}
