import type { Executor, Statement } from '../../../platform/database.ts';

// Ownership is part of the query; null owners match all accounts. A key that was already revoked keeps its time.
const REVOKE_KEY: Statement = {
  name: 'revoke-key',
  text: `
    update api_keys k set revoked_at = coalesce(k.revoked_at, now())
    from (select key_id, revoked_at from api_keys
          where key_id = $1 and ($2::text[] is null or user_id = any($2::text[])) for update) as before
    where k.key_id = before.key_id
    returning before.revoked_at is null as is_new, k.user_id`,
};
// Index: api_keys_by_user.
const REVOKE_KEYS_OF: Statement = {
  name: 'revoke-keys-of',
  text: 'update api_keys set revoked_at = now() where user_id = $1 and revoked_at is null',
};
const TOUCH_KEY: Statement = {
  name: 'touch-key',
  text: 'update api_keys set last_used_at = now() where key_id = $1',
};

/** Returns null if there is no key that the caller may revoke. */
export async function revokeKeyRow(
  db: Executor,
  keyId: string,
  owners: readonly string[] | null,
): Promise<{ isNew: boolean; userId: string } | null> {
  const { rows } = await db.run<{ is_new: boolean; user_id: string }>(REVOKE_KEY, [keyId, owners]);
  return rows[0] ? { isNew: rows[0].is_new, userId: rows[0].user_id } : null;
}

/** Returns the number of keys that were still valid. */
export async function revokeKeysOf(db: Executor, userId: string): Promise<number> {
  return (await db.run(REVOKE_KEYS_OF, [userId])).rowCount ?? 0;
}

export async function touchKey(db: Executor, keyId: string): Promise<void> {
  await db.run(TOUCH_KEY, [keyId]);
}
