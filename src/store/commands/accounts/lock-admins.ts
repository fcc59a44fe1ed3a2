import type { Executor, Statement } from '../../../platform/database.ts';

// In one order, so that two who change administrators wait for each other instead of deadlocking. Who waited reads the rows
// as the other left them: an administrator that was just demoted is not in the answer.
const LOCK_ADMINS: Statement = {
  name: 'lock-admins',
  text: `select user_id from users where role = 'admin' and not disabled order by user_id for update`,
};

/** Administrators that can sign in; none can stop being one before the transaction ends. */
export async function lockAdmins(db: Executor): Promise<string[]> {
  return (await db.run<{ user_id: string }>(LOCK_ADMINS)).rows.map((row) => row.user_id);
}
