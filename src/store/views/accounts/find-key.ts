import type { Role } from '../../../core/accounts/role.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Finds a key by its public part; the caller compares the hashes. A revoked or expired key, or one of a disabled
// account, is not found. $2: how old the time of last use may be before it is updated.
const FIND_KEY: Statement = {
  name: 'find-key',
  text: `
    select k.secret_hash, k.user_id, k.scopes, k.expires_at, u.role, u.team_id,
           coalesce(k.last_used_at < now() - $2 * interval '1 millisecond', true) as is_stale
    from api_keys k join users u on u.user_id = k.user_id
    where k.key_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) and not u.disabled`,
};

export interface FoundKey {
  secretHash: Buffer;
  userId: string;
  scopes: string[];
  expiresAt: Date | null;
  role: Role;
  teamId: string | null;
  isStale: boolean;
}

export async function findKey(db: Executor, keyId: string, touchMs: number): Promise<FoundKey | null> {
  const { rows } = await db.run<{
    secret_hash: Buffer;
    user_id: string;
    scopes: string[];
    expires_at: Date | null;
    role: Role;
    team_id: string | null;
    is_stale: boolean;
  }>(FIND_KEY, [keyId, touchMs]);
  const row = rows[0];
  if (!row) return null;
  return {
    secretHash: row.secret_hash,
    userId: row.user_id,
    scopes: row.scopes,
    expiresAt: row.expires_at,
    role: row.role,
    teamId: row.team_id,
    isStale: row.is_stale,
  };
}
