import type { Executor, Statement } from '../../../platform/database.ts';

// Requires an enabled account whose password is still the one that was checked. Its row is locked: a change of the
// account either comes first and is seen here, or comes later and ends this session. The token is created once, so a
// retried insert finds its own row.
const INSERT_SESSION: Statement = {
  name: 'insert-session',
  text: `
    with signed_in as (
      update users set last_sign_in_at = now()
      where user_id = $2 and password_hash = $3 and not disabled
      returning user_id
    )
    insert into sessions (token_hash, user_id, expires_at)
    select $1, user_id, now() + $4 * interval '1 millisecond' from signed_in
    on conflict (token_hash) do update set last_seen_at = now()`,
};

/** Returns false if the account changed since its password was checked. */
export async function insertSession(
  db: Executor,
  session: { tokenHash: Buffer; userId: string; passwordHash: string; maxMs: number },
): Promise<boolean> {
  const { tokenHash, userId, passwordHash, maxMs } = session;
  return (await db.run(INSERT_SESSION, [tokenHash, userId, passwordHash, maxMs])).rowCount === 1;
}
