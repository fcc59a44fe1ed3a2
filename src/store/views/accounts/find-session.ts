import type { Role } from '../../../core/accounts/role.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Role, team and disabled state are read on every request, so a change applies to the next one. Primary keys of both
// tables. $2: maximum idle time of a session; $3: how old the time of last use may be before it is updated.
const FIND_SESSION: Statement = {
  name: 'find-session',
  text: `
    select s.user_id, u.role, u.team_id, s.confirmed_at + $4 * interval '1 millisecond' as confirmed_until,
           s.confirmed_at + $4 * interval '1 millisecond' > now() as is_confirmed,
           least(s.expires_at, s.last_seen_at + $2 * interval '1 millisecond') as expires_at,
           s.last_seen_at < now() - $3 * interval '1 millisecond' as is_stale
    from sessions s join users u on u.user_id = s.user_id
    where s.token_hash = $1 and not u.disabled
      and s.expires_at > now() and s.last_seen_at > now() - $2 * interval '1 millisecond'`,
};

export interface FoundSession {
  userId: string;
  role: Role;
  teamId: string | null;
  expiresAt: Date;
  /** Null if the last password confirmation is too old. */
  confirmedUntil: Date | null;
  /** True if the time of last use should be updated. */
  isStale: boolean;
}

export async function findSession(
  db: Executor,
  tokenHash: Buffer,
  times: { idleMs: number; touchMs: number; confirmMs: number },
): Promise<FoundSession | null> {
  const { rows } = await db.run<{
    user_id: string;
    role: Role;
    team_id: string | null;
    confirmed_until: Date;
    is_confirmed: boolean;
    expires_at: Date;
    is_stale: boolean;
  }>(FIND_SESSION, [tokenHash, times.idleMs, times.touchMs, times.confirmMs]);
  const row = rows[0];
  if (!row) return null;
  return {
    userId: row.user_id,
    role: row.role,
    teamId: row.team_id,
    expiresAt: row.expires_at,
    confirmedUntil: row.is_confirmed ? row.confirmed_until : null,
    isStale: row.is_stale,
  };
}
