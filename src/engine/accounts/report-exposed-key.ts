// A valid key was sent in a URL, where proxies and histories keep it. The request is refused, and the audit log shows
// the owner of the key that it should be replaced.
import type { AuditCaller, EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { findKeyCaller } from './find-caller.ts';

export async function reportExposedKey(
  context: EngineContext,
  keyId: string,
  secret: string,
  by: AuditCaller,
): Promise<void> {
  const found = await findKeyCaller(context, keyId, secret);
  if (found)
    await recordAudit(
      context.db,
      { by },
      {
        action: 'key.exposed',
        subject: `key ${keyId}`,
        detail: { userId: found.userId },
      },
    );
}
