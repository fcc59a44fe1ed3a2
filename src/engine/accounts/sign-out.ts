import { retryPassing } from '../../platform/retry-passing.ts';
import { endSession } from '../../store/commands/accounts/end-sessions.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export async function signOut(context: EngineContext, tokenHash: Buffer): Promise<void> {
  await retryPassing(() =>
    context.db.transaction(async (tx) => {
      const userId = await endSession(tx, tokenHash);
      if (userId !== null) await recordAudit(tx, context, { action: 'sign-out', subject: `user ${userId}` });
    }),
  );
}
