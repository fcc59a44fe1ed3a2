// An administrator changes an account. A new role or password ends its sessions. Disabling it ends them too, revokes
// its keys and disables the webhooks it created. At least one administrator can always sign in.

import type { Role } from '../../core/accounts/role.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { hashPassword } from '../../platform/password-hash.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { endSessionsOf } from '../../store/commands/accounts/end-sessions.ts';
import { revokeKeysOf } from '../../store/commands/accounts/revoke-keys.ts';
import { lockAdmins, updateUser } from '../../store/commands/accounts/update-user.ts';
import { disableWebhooksOf } from '../../store/commands/events/change-webhooks.ts';
import { readUser, type User } from '../../store/views/accounts/read-user.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { asMissingTeam, checkPassword } from './create-user.ts';

export interface UserChanges {
  role?: Role | undefined;
  teamId?: string | null | undefined;
  disabled?: boolean | undefined;
  password?: string | undefined;
  /** Revokes the account's keys, independent of the other changes. */
  revokeKeys?: boolean | undefined;
}

export async function changeUser(context: EngineContext, userId: string, given: UserChanges): Promise<User> {
  const { password, revokeKeys = false, ...change } = given;
  if (password !== undefined) checkPassword(password, userId);
  // A hash is expensive, so check first that the account exists.
  if (!(await readUser(context.db, userId))) throw notFound(userId);
  const passwordHash = password === undefined ? undefined : await hashPassword(password);
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const endsAdmin = change.disabled === true || (change.role !== undefined && change.role !== 'admin');
      if (endsAdmin) {
        const admins = await lockAdmins(tx);
        if (admins.length === 1 && admins[0] === userId)
          throw new RowmillError('LAST_ADMIN', `${userId} is the last administrator`);
      }
      const before = await readUser(tx, userId);
      const updated = await updateUser(tx, userId, { ...change, passwordHash }).catch((error: unknown) => {
        throw asMissingTeam(error, change.teamId);
      });
      if (!updated || !before) throw notFound(userId);
      const hasNewRole = change.role !== undefined && change.role !== before.role;
      if (hasNewRole || change.disabled || passwordHash !== undefined) await endSessionsOf(tx, userId);
      const endedKeys = change.disabled || revokeKeys ? await revokeKeysOf(tx, userId) : 0;
      const endedWebhooks = change.disabled ? await disableWebhooksOf(tx, userId) : 0;
      const secret = password !== undefined && { password: 'new' };
      const detail = { ...change, ...secret, endedKeys, ...(endedWebhooks > 0 && { endedWebhooks }) };
      await recordAudit(tx, context, { action: 'user.change', subject: `user ${userId}`, detail });
      return (await readUser(tx, userId))!;
    }),
  );
}

function notFound(userId: string): RowmillError {
  return new RowmillError('ACCOUNT_NOT_FOUND', `there is no account ${userId}`);
}
