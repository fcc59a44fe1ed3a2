// Revokes an API key: the next request with it is refused.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { revokeKeyRow } from '../../store/commands/accounts/revoke-keys.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

/** `owners` null: the key may belong to any account. */
export async function revokeKey(
  context: EngineContext,
  keyId: string,
  owners: readonly string[] | null,
): Promise<void> {
  await retryPassing(() =>
    context.db.transaction(async (tx) => {
      const revoked = await revokeKeyRow(tx, keyId, owners);
      if (revoked === null) throw keyNotFound(keyId);
      if (!revoked.isNew) return;
      const detail = { userId: revoked.userId };
      await recordAudit(tx, context, { action: 'key.revoke', subject: `key ${keyId}`, detail });
    }),
  );
}

export function keyNotFound(keyId: string): RowmillError {
  return new RowmillError('KEY_NOT_FOUND', `there is no key ${keyId}`);
}
