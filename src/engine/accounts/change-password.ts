// A user changes their own password. All their sessions end; the session of the request continues with a new token.
import { hashPassword } from '../../platform/password-hash.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { hashToken, newToken } from '../../platform/secret-token.ts';
import { endSessionsOf } from '../../store/commands/accounts/end-sessions.ts';
import { insertSession } from '../../store/commands/accounts/insert-session.ts';
import { revokeKeysOf } from '../../store/commands/accounts/revoke-keys.ts';
import { giveBackSignInAttempts } from '../../store/commands/accounts/sign-in-attempts.ts';
import { replacePassword } from '../../store/commands/accounts/update-user.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { checkPassword } from './create-user.ts';
import { type PasswordProof, provePassword } from './prove-password.ts';

export async function changePassword(
  context: EngineContext,
  given: {
    userId: string;
    current: string;
    password: string;
    hasSession: boolean;
    revokeKeys?: boolean | undefined;
  },
): Promise<Exclude<PasswordProof, { kind: 'right' }> | { kind: 'changed'; token: string | null }> {
  const { userId, password, hasSession } = given;
  checkPassword(password, userId);
  const proof = await provePassword(context, userId, given.current);
  if (proof.kind !== 'right') return proof;
  const next = await hashPassword(password);
  const token = hasSession ? newToken() : null;
  const maxMs = context.settings.sessionMaxMs;
  const changed = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (!(await replacePassword(tx, userId, { old: proof.passwordHash, next }))) return false;
      await endSessionsOf(tx, userId);
      if (token !== null)
        await insertSession(tx, { tokenHash: hashToken(token), userId, passwordHash: next, maxMs });
      await giveBackSignInAttempts(tx, proof.attempts);
      const detail = given.revokeKeys ? { endedKeys: await revokeKeysOf(tx, userId) } : {};
      await recordAudit(tx, context, { action: 'user.password', subject: `user ${userId}`, detail });
      return true;
    }),
  );
  return changed ? { kind: 'changed', token } : { kind: 'wrong' };
}
