import type { Role } from '../../../core/accounts/role.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const COLUMNS = 'user_id, role, team_id, disabled, created_at, last_sign_in_at';
const READ_USER: Statement = {
  name: 'read-user',
  text: `select ${COLUMNS} from users where user_id = $1`,
};
const LIST_USERS: Statement = {
  name: 'list-users',
  text: `select ${COLUMNS} from users order by user_id limit $1`,
};
const READ_PASSWORD: Statement = {
  name: 'read-password',
  text: 'select password_hash from users where user_id = $1 and not disabled',
};
const HAS_USERS: Statement = {
  name: 'has-users',
  text: 'select exists (select from users) as has_users',
};

interface UserRow {
  user_id: string;
  role: Role;
  team_id: string | null;
  disabled: boolean;
  created_at: Date;
  last_sign_in_at: Date | null;
}

export interface User {
  userId: string;
  role: Role;
  teamId: string | null;
  disabled: boolean;
  createdAt: Date;
  lastSignInAt: Date | null;
}

function toUser(row: UserRow): User {
  return {
    userId: row.user_id,
    role: row.role,
    teamId: row.team_id,
    disabled: row.disabled,
    createdAt: row.created_at,
    lastSignInAt: row.last_sign_in_at,
  };
}

export async function readUser(db: Executor, userId: string): Promise<User | null> {
  const { rows } = await db.run<UserRow>(READ_USER, [userId]);
  return rows[0] ? toUser(rows[0]) : null;
}

export async function listUsers(db: Executor, limit: number): Promise<User[]> {
  return (await db.run<UserRow>(LIST_USERS, [limit])).rows.map(toUser);
}

/** Returns null if the account does not exist or is disabled. */
export async function readPasswordHash(db: Executor, userId: string): Promise<string | null> {
  const { rows } = await db.run<{ password_hash: string }>(READ_PASSWORD, [userId]);
  return rows[0]?.password_hash ?? null;
}

export async function hasUsers(db: Executor): Promise<boolean> {
  return (await db.run<{ has_users: boolean }>(HAS_USERS)).rows[0]!.has_users;
}
