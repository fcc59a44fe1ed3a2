import type { Executor, Statement } from '../../../platform/database.ts';

const END_SESSION: Statement = {
  name: 'end-session',
  text: 'delete from sessions where token_hash = $1 returning user_id',
};
// Index: sessions_by_user.
const END_SESSIONS_OF: Statement = {
  name: 'end-sessions-of',
  text: 'delete from sessions where user_id = $1',
};
// Index: sessions_by_expiry. Skips rows that another process is deleting.
const REMOVE_EXPIRED: Statement = {
  name: 'remove-expired-sessions',
  text: `
    delete from sessions where token_hash in (
      select token_hash from sessions where expires_at < now() order by expires_at limit 100 for update skip locked)`,
};

/** Returns the account of the session; null if the session had already ended. */
export async function endSession(db: Executor, tokenHash: Buffer): Promise<string | null> {
  return (await db.run<{ user_id: string }>(END_SESSION, [tokenHash])).rows[0]?.user_id ?? null;
}

export async function endSessionsOf(db: Executor, userId: string): Promise<void> {
  await db.run(END_SESSIONS_OF, [userId]);
}

export async function removeExpiredSessions(db: Executor): Promise<void> {
  await db.run(REMOVE_EXPIRED);
}
