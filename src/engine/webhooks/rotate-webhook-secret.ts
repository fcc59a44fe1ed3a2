// Rotates the secret of a webhook. For a day, messages are signed with the old secret too, so that the receiver can
// switch over.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { randomSecret } from '../../platform/secret-box.ts';
import { SECRET_PREFIX } from '../../platform/webhook-signature.ts';
import { rotateSecret } from '../../store/commands/events/change-webhooks.ts';
import { readWebhook } from '../../store/views/events/read-webhooks.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { webhookNotFound } from './change-webhook.ts';
import { secretBoxOf } from './secret-box-of.ts';
import { secretPurpose } from './webhook-target.ts';

const BOTH_MS = 86_400_000;

export async function rotateWebhookSecret(
  context: EngineContext,
  webhookId: string,
  owners: readonly string[] | null,
): Promise<string> {
  const secret = SECRET_PREFIX + randomSecret();
  const stored = (await secretBoxOf(context)).seal(secret, secretPurpose(webhookId));
  await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (await rotateSecret(tx, { webhookId, owners, secret: stored, bothMs: BOTH_MS })) {
        const subject = `webhook ${webhookId}`;
        await recordAudit(tx, context, { action: 'webhook.rotate', subject });
        return;
      }
      const webhook = await readWebhook(tx, webhookId, owners);
      if (webhook === null) throw webhookNotFound(webhookId);
      if (webhook.format !== 'signed')
        throw new RowmillError('WEBHOOK_URL_REFUSED', `messages to webhook ${webhookId} are not signed`, {
          hint: 'Only webhooks of the format signed have a secret.',
        });
    }),
  );
  return secret;
}
