import type { Role } from '../../../core/accounts/role.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Omitted values stay unchanged. $3 shows whether a team is given, because null is a valid value.
const UPDATE_USER: Statement = {
  name: 'update-user',
  text: `
    update users
    set role = coalesce($2, role),
        team_id = case when $3::boolean then $4 else team_id end,
        disabled = coalesce($5, disabled),
        password_hash = coalesce($6, password_hash)
    where user_id = $1`,
};
// Only if the password is still the one that was checked and the account is still enabled.
const REPLACE_PASSWORD: Statement = {
  name: 'replace-password',
  text: `
    update users set password_hash = $3
    where user_id = $1 and password_hash in ($2, $3) and not disabled`,
};

export interface UserChange {
  role?: Role | undefined;
  /** Null: no team. */
  teamId?: string | null | undefined;
  disabled?: boolean | undefined;
  passwordHash?: string | undefined;
}

/** Returns false if there is no such account. */
export async function updateUser(db: Executor, userId: string, change: UserChange): Promise<boolean> {
  const { role, teamId, disabled, passwordHash } = change;
  const { rowCount } = await db.run(UPDATE_USER, [
    userId,
    role ?? null,
    teamId !== undefined,
    teamId ?? null,
    disabled ?? null,
    passwordHash ?? null,
  ]);
  return rowCount === 1;
}

export async function replacePassword(
  db: Executor,
  userId: string,
  hashes: { old: string; next: string },
): Promise<boolean> {
  return (await db.run(REPLACE_PASSWORD, [userId, hashes.old, hashes.next])).rowCount === 1;
}

// Locks in a fixed order, so that two concurrent changes wait for each other instead of deadlocking. After a wait,
// rows are read as the other transaction left them: an administrator that was just demoted is not returned.
const LOCK_ADMINS: Statement = {
  name: 'lock-admins',
  text: `select user_id from users where role = 'admin' and not disabled order by user_id for update`,
};

/** Administrators who can sign in; none can be demoted or disabled before the transaction ends. */
export async function lockAdmins(db: Executor): Promise<string[]> {
  return (await db.run<{ user_id: string }>(LOCK_ADMINS)).rows.map((row) => row.user_id);
}
