// Creates an API key, rmk_<id>_<secret>. Its text is returned here and stored nowhere.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { hashToken, newKeyId, newToken } from '../../platform/secret-token.ts';
import { insertKey, lockAccount } from '../../store/commands/accounts/insert-key.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export interface MadeKey {
  keyId: string;
  key: string;
  createdAt: Date;
  expiresAt: Date | null;
}

export async function createKey(
  context: EngineContext,
  given: {
    userId: string;
    name: string;
    scopes: readonly string[];
    days: number | null;
    notAfter: Date | null;
  },
): Promise<MadeKey> {
  const { userId, name, scopes, days } = given;
  const { userMaxKeys } = context.settings;
  const keyId = newKeyId();
  const secret = newToken();
  const times = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (!(await lockAccount(tx, userId)))
        throw new RowmillError('FORBIDDEN', `the account ${userId} is disabled`);
      const made = await insertKey(tx, { ...given, keyId, secretHash: hashToken(secret) }, userMaxKeys);
      if (made === null)
        throw new RowmillError(
          'QUOTA_EXCEEDED',
          `expected ${userId} to have at most ${userMaxKeys} valid API keys (userMaxKeys), this would be one more`,
          { hint: 'Revoke unused keys.' },
        );
      const detail = { userId, name, scopes, days };
      await recordAudit(tx, context, { action: 'key.create', subject: `key ${keyId}`, detail });
      return made;
    }),
  );
  return { keyId, key: `rmk_${keyId}_${secret}`, ...times };
}
