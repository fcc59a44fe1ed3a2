// Prepares a database for hundreds of small jobs in a row. Call it before any other connection.
import type { TestDatabase } from '../support/test-database.ts';

/** No server dies here, so commits need not wait for the disk. */
export async function prepareForMany(database: TestDatabase): Promise<void> {
  const name = new URL(database.url).pathname.slice(1);
  await database.query(`alter database ${name} set synchronous_commit = off`);
}
