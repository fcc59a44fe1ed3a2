import type { Executor, Statement } from '../../../platform/database.ts';

// Held until the end of the transaction: the statements after it count the owner's objects, and concurrent requests
// must not exceed a limit together. Not a row lock, because most owners have no row.
const LOCK_OWNER: Statement = {
  name: 'lock-owner',
  text: `select pg_advisory_xact_lock(hashtextextended('rowmill owner ' || $1, 0))`,
};

export async function lockOwner(db: Executor, ownerId: string): Promise<void> {
  await db.run(LOCK_OWNER, [ownerId]);
}
