// Checks the password of an account, slowly on purpose. Attempts are counted per account and per address in the
// database, before the password is checked, so neither a restart nor a second process allows more of them. An unknown
// or disabled account takes the same time and gets the same response as a wrong password.
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

/** Wait suggested to the client if too many passwords are being checked at the same time. */
const BUSY_MS = 5000;

export type PasswordProof =
  | { kind: 'throttled'; retryAfterMs: number }
  | { kind: 'wrong' }
  /** `passwordHash` is compared again in the transaction; `attempts` are given back there. */
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
  // An unknown user name may be a password typed into the wrong field, so it is not stored.
  const subject = passwordHash === null ? 'user unknown' : `user ${userId}`;
  await retryPassing(() => recordAudit(db, context, { action: 'sign-in.failed', subject }));
  return { kind: 'wrong' };
}
