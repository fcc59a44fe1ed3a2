import type { Role } from '../../../core/accounts/role.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Finds a key by its public part; the caller compares the hashes. A revoked or expired key, or one of a disabled
// account, is not found. $2: how old the time of last use may be before it is updated.
const FIND_KEY: Statement = {
  name: 'find-key',
  text: `
    select k.secret_hash as "secretHash", k.user_id as "userId", k.scopes, k.expires_at as "expiresAt", u.role,
           u.team_id as "teamId",
           coalesce(k.last_used_at < now() - $2 * interval '1 millisecond', true) as "isStale"
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
  return (await db.run<FoundKey>(FIND_KEY, [keyId, touchMs])).rows[0] ?? null;
}
