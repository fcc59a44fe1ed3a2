import type { Executor, Statement } from '../../../platform/database.ts';

// Until the end of the transaction: what follows counts the owner's things, and requests at the same moment must not pass
// together. Not a row lock, because most owners have no row.
const LOCK_OWNER: Statement = {
  name: 'lock-owner',
  text: `select pg_advisory_xact_lock(hashtextextended('rowmill owner ' || $1, 0))`,
};

export async function lockOwner(db: Executor, ownerId: string): Promise<void> {
  await db.run(LOCK_OWNER, [ownerId]);
}
