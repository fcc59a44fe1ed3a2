// Checks the password of an account, slowly on purpose. Attempts count per account and per address before the password is
// looked at, in the database, so that neither a restart nor a second process lets more of them through. An account that
// there is not, or is disabled, costs the same time and gets the same answer as a wrong password.
import { addressGroup } from '../../core/accounts/address-group.ts';
import { HashQueueFullError, verifyPassword } from '../../platform/password-hash.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { hashToken } from '../../platform/secret-token.ts';
import {
  forgetOldSignInAttempts,
  takeSignInAttempt,
} from '../../store/commands/accounts/sign-in-attempts.ts';
import { readPasswordHash } from '../../store/views/accounts/read-user.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

/** How long to stay away when too many passwords are being checked at once. */
const BUSY_MS = 5000;

export type PasswordProof =
  | { kind: 'throttled'; retryAfterMs: number }
  | { kind: 'wrong' }
  /** The hash that it was, to be compared again in the transaction; the attempts, to be given back there. */
  | { kind: 'right'; passwordHash: string; attempts: Buffer[] };

export async function provePassword(
  context: EngineContext,
  userId: string,
  password: string,
): Promise<PasswordProof> {
  const { db, settings, by } = context;
  const account = hashToken(`account ${userId}`);
  const address = hashToken(`address ${addressGroup(by?.address ?? '')}`);
  const waitMs = await retryPassing(() =>
    db.transaction(async (tx) => {
      await forgetOldSignInAttempts(tx);
      return (
        (await takeSignInAttempt(tx, address, settings.signInsPerMinuteAddress)) ??
        (await takeSignInAttempt(tx, account, settings.signInsPerMinute))
      );
    }),
  );
  if (waitMs !== null) return { kind: 'throttled', retryAfterMs: waitMs };
  const passwordHash = await readPasswordHash(db, userId);
  try {
    if ((await verifyPassword(password, passwordHash)) && passwordHash !== null)
      return { kind: 'right', passwordHash, attempts: [account, address] };
  } catch (error) {
    if (error instanceof HashQueueFullError) return { kind: 'throttled', retryAfterMs: BUSY_MS };
    throw error;
  }
  // What somebody types as a name that there is not may be a password: it is not written down.
  const subject = passwordHash === null ? 'user unknown' : `user ${userId}`;
  await retryPassing(() => recordAudit(db, context, { action: 'sign-in.failed', subject }));
  return { kind: 'wrong' };
}
