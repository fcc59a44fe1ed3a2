import type { Role } from '../../../core/accounts/role.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const COLUMNS = `user_id as "userId", role, team_id as "teamId", disabled, created_at as "createdAt",
  last_sign_in_at as "lastSignInAt"`;
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

export interface User {
  userId: string;
  role: Role;
  teamId: string | null;
  disabled: boolean;
  createdAt: Date;
  lastSignInAt: Date | null;
}

export async function readUser(db: Executor, userId: string): Promise<User | null> {
  return (await db.run<User>(READ_USER, [userId])).rows[0] ?? null;
}

export async function listUsers(db: Executor, limit: number): Promise<User[]> {
  return (await db.run<User>(LIST_USERS, [limit])).rows;
}

/** Returns null if the account does not exist or is disabled. */
export async function readPasswordHash(db: Executor, userId: string): Promise<string | null> {
  const { rows } = await db.run<{ password_hash: string }>(READ_PASSWORD, [userId]);
  return rows[0]?.password_hash ?? null;
}

export async function hasUsers(db: Executor): Promise<boolean> {
  return (await db.run<{ has_users: boolean }>(HAS_USERS)).rows[0]!.has_users;
}
