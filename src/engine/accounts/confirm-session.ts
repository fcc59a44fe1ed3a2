// Confirms the password in an existing session. For a limited time, the session may then do things that need it.
import { retryPassing } from '../../platform/retry-passing.ts';
import { giveBackSignInAttempts } from '../../store/commands/accounts/sign-in-attempts.ts';
import { confirmSessionRow } from '../../store/commands/accounts/touch-session.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { type PasswordProof, provePassword } from './prove-password.ts';

export async function confirmSession(
  context: EngineContext,
  given: { userId: string; password: string; tokenHash: Buffer },
): Promise<Exclude<PasswordProof, { kind: 'right' }> | { kind: 'confirmed' }> {
  const { userId, tokenHash } = given;
  const proof = await provePassword(context, userId, given.password);
  if (proof.kind !== 'right') return proof;
  const confirmed = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (!(await confirmSessionRow(tx, tokenHash))) return false;
      await giveBackSignInAttempts(tx, proof.attempts);
      await recordAudit(tx, context, { action: 'sign-in.confirmed', subject: `user ${userId}` });
      return true;
    }),
  );
  return confirmed ? { kind: 'confirmed' } : { kind: 'wrong' };
}
