import type { Executor, Statement } from '../../../platform/database.ts';

// Held until commit: the account cannot be disabled in the meantime, and the count after it is exact.
const LOCK_ACCOUNT: Statement = {
  name: 'lock-account-of-key',
  text: 'select from users where user_id = $1 and not disabled for no key update',
};

// A retried insert finds its own row. least() ignores nulls, which mean no expiry. Index: api_keys_by_user.
const INSERT_KEY: Statement = {
  name: 'insert-key',
  text: `
    insert into api_keys (key_id, secret_hash, user_id, name, scopes, expires_at)
    select $1, $2, $3, $4, $5, least(now() + $6::int * interval '1 day', $7)
    where (select count(*) from api_keys
           where user_id = $3 and key_id <> $1 and revoked_at is null and (expires_at is null or expires_at > now())) < $8
    on conflict (key_id) do update set name = excluded.name where api_keys.secret_hash = excluded.secret_hash
    returning created_at, expires_at`,
};

export interface NewKey {
  keyId: string;
  secretHash: Buffer;
  userId: string;
  name: string;
  scopes: readonly string[];
  /** Null: the key does not expire. */
  days: number | null;
  /** Expiry of the key that creates this one: a key cannot outlive its creator. */
  notAfter: Date | null;
}

/** Locks until the end of the transaction. Returns false if the account does not exist or is disabled. */
export async function lockAccount(tx: Executor, userId: string): Promise<boolean> {
  return (await tx.run(LOCK_ACCOUNT, [userId])).rowCount === 1;
}

/** Requires `lockAccount`. Returns null if the account has reached its limit of valid keys. */
export async function insertKey(
  tx: Executor,
  key: NewKey,
  most: number,
): Promise<{ createdAt: Date; expiresAt: Date | null } | null> {
  const { rows } = await tx.run<{ created_at: Date; expires_at: Date | null }>(INSERT_KEY, [
    key.keyId,
    key.secretHash,
    key.userId,
    key.name,
    key.scopes,
    key.days,
    key.notAfter,
    most,
  ]);
  return rows[0] ? { createdAt: rows[0].created_at, expiresAt: rows[0].expires_at } : null;
}
