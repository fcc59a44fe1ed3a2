// Sends a test message immediately and returns the result. It is not retried.
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { insertTestDelivery } from '../../store/commands/events/claim-deliveries.ts';
import type { Delivery } from '../../store/views/events/list-deliveries.ts';
import { readWebhook } from '../../store/views/events/read-webhooks.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { webhookNotFound } from './change-webhook.ts';
import { testBodyOf } from './message-body.ts';
import { sendDelivery } from './send-delivery.ts';
import { guardOf } from './webhook-target.ts';

const LEASE_MARGIN_MS = 30_000;

export async function testWebhook(
  context: EngineContext,
  webhookId: string,
  owners: readonly string[] | null,
): Promise<Delivery> {
  const { db, settings } = context;
  const leaseMs = settings.webhookTimeoutMs + LEASE_MARGIN_MS;
  const claimed = await retryPassing(() =>
    db.transaction(async (tx) => {
      const webhook = await readWebhook(tx, webhookId, owners);
      if (webhook === null) throw webhookNotFound(webhookId);
      const body = testBodyOf(webhookId, webhook.format);
      const inserted = await insertTestDelivery(tx, { webhookId, owners, body, token: newId(), leaseMs });
      if (inserted === null) throw webhookNotFound(webhookId);
      await recordAudit(tx, context, { action: 'webhook.test', subject: `webhook ${webhookId}` });
      return inserted;
    }),
  );
  const sending = { guard: guardOf(settings), maxAttempts: 1 };
  return (await sendDelivery(context, claimed, sending)) ?? claimed;
}
