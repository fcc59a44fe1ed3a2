// Creates the first account. While there is none, the server writes a token to its log; whichever client has it
// creates the administrator. One transaction consumes the token and creates the account, so only one of any number of
// attempts succeeds.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { hashPassword } from '../../platform/password-hash.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { hashToken, newToken } from '../../platform/secret-token.ts';
import { insertSession } from '../../store/commands/accounts/insert-session.ts';
import { insertFirstUser } from '../../store/commands/accounts/insert-user.ts';
import { consumeSetupToken, offerSetupToken } from '../../store/commands/accounts/setup-token.ts';
import { hasUsers, readPasswordHash } from '../../store/views/accounts/read-user.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { checkPassword, refuseReserved } from './create-user.ts';

/** The token for the log; null if an account exists. Voids earlier tokens. */
export async function offerSetup({ db, settings }: EngineContext): Promise<string | null> {
  const token = newToken();
  const offered = await retryPassing(() => offerSetupToken(db, hashToken(token), settings.setupTokenMs));
  return offered ? token : null;
}

/** Creates the account and a session for it. */
export async function setUp(
  context: EngineContext,
  given: { token: string; userId: string; password: string },
): Promise<{ token: string; tokenHash: Buffer }> {
  const { userId } = given;
  if (await hasUsers(context.db)) throw setupDone();
  refuseReserved(userId);
  checkPassword(given.password, userId);
  const token = newToken();
  const tokenHash = hashToken(token);
  const maxMs = context.settings.sessionMaxMs;
  let made: string | null = null;
  await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (!(await consumeSetupToken(tx, hashToken(given.token)))) {
        // After a lost COMMIT reply: the account exists, with the hash computed here.
        if (made !== null && (await readPasswordHash(tx, userId)) === made) return;
        if (await hasUsers(tx)) throw setupDone();
        throw new RowmillError('SETUP_TOKEN_WRONG', 'the setup token is not the current one');
      }
      // Under the lock of the token, so that only one of several concurrent requests computes a hash.
      const passwordHash = made ?? (await hashPassword(given.password));
      made = passwordHash;
      if (!(await insertFirstUser(tx, userId, passwordHash))) throw setupDone();
      await insertSession(tx, { tokenHash, userId, passwordHash, maxMs });
      await recordAudit(tx, context, { actor: userId, action: 'setup', subject: `user ${userId}` });
    }),
  );
  return { token, tokenHash };
}

function setupDone(): RowmillError {
  return new RowmillError('SETUP_DONE', 'an account already exists');
}
