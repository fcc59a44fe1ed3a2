import type { Executor, Statement } from '../../platform/database.ts';

// For an account that is enabled: its row is locked against being disabled meanwhile. An insert whose reply was lost finds
// its own row. least() passes over nulls, which stand for no end.
const INSERT_KEY: Statement = {
  name: 'insert-key',
  text: `
    insert into api_keys (key_id, secret_hash, user_id, name, scopes, expires_at)
    select $1, $2, user_id, $4, $5, least(now() + $6::int * interval '1 day', $7)
    from (select user_id from users where user_id = $3 and not disabled for share) as enabled
    on conflict (key_id) do update set name = excluded.name where api_keys.secret_hash = excluded.secret_hash
    returning created_at, expires_at`,
};

export interface NewKey {
  keyId: string;
  secretHash: Buffer;
  userId: string;
  name: string;
  scopes: readonly string[];
  /** Null: it does not end by itself. */
  days: number | null;
  /** End of the key that makes it: none outlives its maker. */
  notAfter: Date | null;
}

/** Null when the account cannot have one. */
export async function insertKey(
  db: Executor,
  key: NewKey,
): Promise<{ createdAt: Date; expiresAt: Date | null } | null> {
  const { rows } = await db.run<{ created_at: Date; expires_at: Date | null }>(INSERT_KEY, [
    key.keyId,
    key.secretHash,
    key.userId,
    key.name,
    key.scopes,
    key.days,
    key.notAfter,
  ]);
  return rows[0] ? { createdAt: rows[0].created_at, expiresAt: rows[0].expires_at } : null;
}
