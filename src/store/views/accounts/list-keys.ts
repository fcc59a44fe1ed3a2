import type { Executor, Statement } from '../../../platform/database.ts';

// Null selects the keys of all accounts. Index: api_keys_by_user.
const LIST_KEYS: Statement = {
  name: 'list-keys',
  text: `
    select key_id, name, user_id, scopes, created_at, expires_at, last_used_at, revoked_at from api_keys
    where $1::text is null or user_id = $1
    order by user_id, created_at desc, key_id
    limit $2`,
};

interface KeyRow {
  key_id: string;
  name: string;
  user_id: string;
  scopes: string[];
  created_at: Date;
  expires_at: Date | null;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

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
  return (await db.run<KeyRow>(LIST_KEYS, [userId, limit])).rows.map((row) => ({
    keyId: row.key_id,
    name: row.name,
    userId: row.user_id,
    scopes: row.scopes,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }));
}
