// An administrator creates a user. Also holds the checks that other changes of users share.
import type { Role } from '../../core/accounts/role.ts';
import { weakPasswordBecause } from '../../core/accounts/weak-password.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { hashPassword } from '../../platform/password-hash.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { insertUser } from '../../store/commands/accounts/insert-user.ts';
import { readPasswordHash, readUser, type User } from '../../store/views/accounts/read-user.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

/** Names with a special meaning in the audit log and for jobs of the command line. */
const RESERVED = ['local', 'library', 'nobody', 'unknown'];

export async function createUser(
  context: EngineContext,
  given: { userId: string; password: string; role: Role; teamId: string | null },
): Promise<User> {
  const { userId, role, teamId } = given;
  refuseReserved(userId);
  checkPassword(given.password, userId);
  const passwordHash = await hashPassword(given.password);
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const inserted = await insertUser(tx, { userId, role, teamId, passwordHash }).catch(
        (error: unknown) => {
          throw asMissingTeam(error, teamId);
        },
      );
      if (inserted)
        await recordAudit(tx, context, {
          action: 'user.create',
          subject: `user ${userId}`,
          detail: { role, teamId },
        });
      // After a lost reply, the retried insert finds its own row.
      else if ((await readPasswordHash(tx, userId)) !== passwordHash)
        throw new RowmillError('ACCOUNT_CONFLICT', `account ${userId} already exists`);
      return (await readUser(tx, userId))!;
    }),
  );
}

export function refuseReserved(userId: string): void {
  if (RESERVED.includes(userId)) throw new RowmillError('ACCOUNT_CONFLICT', `the name ${userId} is reserved`);
}

/** Refuses passwords that are too easy to guess. */
export function checkPassword(password: string, userId: string): void {
  const because = weakPasswordBecause(password, userId);
  if (because !== null) throw new RowmillError('PASSWORD_WEAK', because);
}

const FOREIGN_KEY_VIOLATION = '23503';

/** An unknown team surfaces as a foreign-key violation. */
export function asMissingTeam(error: unknown, teamId: string | null | undefined): unknown {
  return (error as { code?: string } | null)?.code === FOREIGN_KEY_VIOLATION
    ? new RowmillError('TEAM_NOT_FOUND', `there is no team ${teamId}`)
    : error;
}
