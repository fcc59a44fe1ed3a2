// Starts a session after a correct password. The browser's previous session ends, so a token that an attacker planted
// never becomes a signed-in one.
import { retryPassing } from '../../platform/retry-passing.ts';
import { hashToken, newToken } from '../../platform/secret-token.ts';
import { endSession, removeExpiredSessions } from '../../store/commands/accounts/end-sessions.ts';
import { insertSession } from '../../store/commands/accounts/insert-session.ts';
import { giveBackSignInAttempts } from '../../store/commands/accounts/sign-in-attempts.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { type PasswordProof, provePassword } from './prove-password.ts';

export type SignedIn =
  | Exclude<PasswordProof, { kind: 'right' }>
  | { kind: 'signed-in'; token: string; tokenHash: Buffer };

export async function signIn(
  context: EngineContext,
  given: { userId: string; password: string; previous: Buffer | null },
): Promise<SignedIn> {
  const { userId } = given;
  const proof = await provePassword(context, userId, given.password);
  if (proof.kind !== 'right') return proof;
  const { passwordHash, attempts } = proof;
  const token = newToken();
  const tokenHash = hashToken(token);
  const maxMs = context.settings.sessionMaxMs;
  const begun = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      await removeExpiredSessions(tx);
      if (given.previous) await endSession(tx, given.previous);
      if (!(await insertSession(tx, { tokenHash, userId, passwordHash, maxMs }))) return false;
      await giveBackSignInAttempts(tx, attempts);
      await recordAudit(tx, context, { actor: userId, action: 'sign-in', subject: `user ${userId}` });
      return true;
    }),
  );
  return begun ? { kind: 'signed-in', token, tokenHash } : { kind: 'wrong' };
}
