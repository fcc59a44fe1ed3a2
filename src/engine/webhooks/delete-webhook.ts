// Deletes a webhook and its deliveries. Messages in flight still arrive.
import { retryPassing } from '../../platform/retry-passing.ts';
import { deleteWebhookRow } from '../../store/commands/events/change-webhooks.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { webhookNotFound } from './change-webhook.ts';

export async function deleteWebhook(
  context: EngineContext,
  webhookId: string,
  owners: readonly string[] | null,
): Promise<void> {
  let attempts = 0;
  await retryPassing(() => {
    attempts += 1;
    return context.db.transaction(async (tx) => {
      if (await deleteWebhookRow(tx, webhookId, owners)) {
        const subject = `webhook ${webhookId}`;
        await recordAudit(tx, context, { action: 'webhook.delete', subject });
      } else if (attempts === 1) throw webhookNotFound(webhookId);
    });
  });
}
