// An administrator adds somebody.

import type { Role } from '../../core/accounts/role.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { hashPassword } from '../../platform/password-hash.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { insertUser } from '../../store/commands/accounts/insert-user.ts';
import { readPasswordHash, readUser, type User } from '../../store/views/accounts/read-user.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { checkPassword } from './check-password.ts';
import { asMissingTeam } from './missing-team.ts';

/** Names that the audit and the jobs of the command line use for somebody else. */
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
      // An insert whose reply was lost finds its own row.
      else if ((await readPasswordHash(tx, userId)) !== passwordHash)
        throw new RowmillError('ACCOUNT_CONFLICT', `there is an account ${userId} already`);
      return (await readUser(tx, userId))!;
    }),
  );
}

export function refuseReserved(userId: string): void {
  if (RESERVED.includes(userId)) throw new RowmillError('ACCOUNT_CONFLICT', `the name ${userId} is reserved`);
}
