import type { Role } from '../../../core/accounts/role.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const INSERT_USER: Statement = {
  name: 'insert-user',
  text: `
    insert into users (user_id, role, team_id, password_hash) values ($1, $2, $3, $4)
    on conflict (user_id) do nothing`,
};
// The unique index users_first admits only one of several concurrent first accounts; the others wait for it and
// insert nothing.
const INSERT_FIRST_USER: Statement = {
  name: 'insert-first-user',
  text: `
    insert into users (user_id, role, password_hash, is_first)
    select $1, 'admin', $2, true where not exists (select from users)
    on conflict do nothing`,
};

export interface NewUser {
  userId: string;
  role: Role;
  teamId: string | null;
  passwordHash: string;
}

/** Returns false if the name is taken. */
export async function insertUser(db: Executor, user: NewUser): Promise<boolean> {
  const { rowCount } = await db.run(INSERT_USER, [user.userId, user.role, user.teamId, user.passwordHash]);
  return rowCount === 1;
}

/** Inserts an administrator. Returns false if an account already exists. */
export async function insertFirstUser(db: Executor, userId: string, passwordHash: string): Promise<boolean> {
  return (await db.run(INSERT_FIRST_USER, [userId, passwordHash])).rowCount === 1;
}
