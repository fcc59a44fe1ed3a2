import type { Role } from '../../../core/accounts/role.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Role, team and disabled state are read on every request, so a change applies to the next one. Primary keys of both
// tables. $2: maximum idle time of a session; $3: how old the time of last use may be before it is updated.
const FIND_SESSION: Statement = {
  name: 'find-session',
  text: `
    select s.user_id as "userId", u.role, u.team_id as "teamId",
           case when s.confirmed_at + $4 * interval '1 millisecond' > now()
                then s.confirmed_at + $4 * interval '1 millisecond' end as "confirmedUntil",
           least(s.expires_at, s.last_seen_at + $2 * interval '1 millisecond') as "expiresAt",
           s.last_seen_at < now() - $3 * interval '1 millisecond' as "isStale"
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
  const values = [tokenHash, times.idleMs, times.touchMs, times.confirmMs];
  return (await db.run<FoundSession>(FIND_SESSION, values)).rows[0] ?? null;
}
