import type { Executor, Statement } from '../../../platform/database.ts';

// Null selects the keys of all accounts. Index: api_keys_by_user.
const LIST_KEYS: Statement = {
  name: 'list-keys',
  text: `
    select key_id as "keyId", name, user_id as "userId", scopes, created_at as "createdAt", expires_at as "expiresAt",
      last_used_at as "lastUsedAt", revoked_at as "revokedAt"
    from api_keys
    where $1::text is null or user_id = $1
    order by user_id, created_at desc, key_id
    limit $2`,
};

export interface ListedKey {
  keyId: string;
  name: string;
  userId: string;
  scopes: string[];
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

export async function listKeys(db: Executor, userId: string | null, limit: number): Promise<ListedKey[]> {
  return (await db.run<ListedKey>(LIST_KEYS, [userId, limit])).rows;
}
