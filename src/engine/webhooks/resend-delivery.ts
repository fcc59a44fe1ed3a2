// Sends a message again with the same id, even if it was given up.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { resend } from '../../store/commands/events/claim-deliveries.ts';
import type { Delivery } from '../../store/views/events/list-deliveries.ts';
import { readWebhook } from '../../store/views/events/read-webhooks.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { webhookNotFound } from './change-webhook.ts';

export async function resendDelivery(
  context: EngineContext,
  webhookId: string,
  deliveryId: string,
  owners: readonly string[] | null,
): Promise<Delivery> {
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      if ((await readWebhook(tx, webhookId, owners)) === null) throw webhookNotFound(webhookId);
      const delivery = await resend(tx, webhookId, deliveryId);
      if (delivery === null) throw deliveryNotFound(webhookId, deliveryId);
      const detail = { deliveryId };
      await recordAudit(tx, context, { action: 'webhook.resend', subject: `webhook ${webhookId}`, detail });
      return delivery;
    }),
  );
}

export function deliveryNotFound(webhookId: string, deliveryId: string): RowmillError {
  return new RowmillError('DELIVERY_NOT_FOUND', `webhook ${webhookId} has no delivery ${deliveryId}`);
}
