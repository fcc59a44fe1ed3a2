// Webhooks of the caller, and what became of the messages to them.
import type { z } from 'zod';
import type { delivery, webhook, webhookRoutes } from '../../contract/webhooks.ts';
import { RowmillError } from '../../core/rowmill-error.ts';
import { changeWebhook } from '../../engine/webhooks/change-webhook.ts';
import { createWebhook } from '../../engine/webhooks/create-webhook.ts';
import { deleteWebhook } from '../../engine/webhooks/delete-webhook.ts';
import { resendDelivery } from '../../engine/webhooks/resend-delivery.ts';
import { rotateWebhookSecret } from '../../engine/webhooks/rotate-webhook-secret.ts';
import { testWebhook } from '../../engine/webhooks/test-webhook.ts';
import { webhookNotFound } from '../../engine/webhooks/webhook-not-found.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { type Delivery, type DeliveryCursor, listDeliveries } from '../../store/views/list-deliveries.ts';
import { listWebhooks, readWebhook, type Webhook } from '../../store/views/read-webhooks.ts';
import { type Actor, listedFor, ownerOf, seenBy } from '../actor.ts';
import type { Handlers } from '../handler.ts';

export const webhookHandlers: Handlers<typeof webhookRoutes> = {
  async listWebhooks({ actor, query, engine }) {
    const found = await listWebhooks(engine.db, listedFor(actor, query.all));
    return { items: found.map(toAnswer) };
  },

  async createWebhook({ actor, body, engine }) {
    const made = await createWebhook(engine, { ownerId: ownerOf(actor), ...body });
    return { ...toAnswer(made.webhook), secret: made.secret };
  },

  async getWebhook({ actor, params, engine }) {
    const found = await readWebhook(engine.db, params.webhookId, seenBy(actor));
    if (found === null) throw webhookNotFound(params.webhookId);
    return toAnswer(found);
  },

  async changeWebhook({ actor, params, body, engine }) {
    return toAnswer(await changeWebhook(engine, params.webhookId, seenBy(actor), body));
  },

  async deleteWebhook({ actor, params, engine }) {
    await deleteWebhook(engine, params.webhookId, seenBy(actor));
    return undefined;
  },

  async rotateWebhookSecret({ actor, params, engine }) {
    checkConfirmed(actor);
    return { secret: await rotateWebhookSecret(engine, params.webhookId, seenBy(actor)) };
  },

  async testWebhook({ actor, params, engine }) {
    return toDeliveryAnswer(await testWebhook(engine, params.webhookId, seenBy(actor)));
  },

  async listDeliveries({ actor, params, query, engine }) {
    const { webhookId } = params;
    if ((await readWebhook(engine.db, webhookId, seenBy(actor))) === null) throw webhookNotFound(webhookId);
    const { pageSize, state = null } = query;
    const after = query.after === undefined ? null : parseCursor(query.after);
    const found = await listDeliveries(engine.db, { webhookId, state, after, limit: pageSize + 1 });
    const page = found.slice(0, pageSize);
    const next = found.length > pageSize ? formatCursor(page.at(-1)!.cursor) : null;
    return { items: page.map((each) => toDeliveryAnswer(each.delivery)), next };
  },

  async resendDelivery({ actor, params, engine }) {
    return toDeliveryAnswer(await resendDelivery(engine, params.webhookId, params.deliveryId, seenBy(actor)));
  },
};

/** A key is a confirmation of its own. */
function checkConfirmed({ via, confirmedUntil }: Actor): void {
  if (via === 'session' && (confirmedUntil === null || confirmedUntil.getTime() < wallClockMs()))
    throw new RowmillError('CONFIRMATION_REQUIRED', 'a new secret needs the password again');
}

function toAnswer(row: Webhook): z.infer<typeof webhook> {
  return {
    ...row,
    kinds: row.kinds as z.infer<typeof webhook>['kinds'],
    createdAt: row.createdAt.toISOString(),
    lastDeliveredAt: row.lastDeliveredAt?.toISOString() ?? null,
  };
}

function toDeliveryAnswer({
  deliveryId,
  webhookId,
  kind,
  jobId,
  messageId,
  state,
  attempts,
  nextAttemptAt,
  lastStatus,
  lastError,
  lastMs,
  createdAt,
  deliveredAt,
}: Delivery): z.infer<typeof delivery> {
  return {
    deliveryId,
    webhookId,
    kind,
    jobId,
    messageId,
    state,
    attempts,
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    lastStatus,
    lastError,
    lastMs,
    createdAt: createdAt.toISOString(),
    deliveredAt: deliveredAt?.toISOString() ?? null,
  };
}

function formatCursor({ createdUs, deliveryId }: DeliveryCursor): string {
  return Buffer.from(JSON.stringify([createdUs, deliveryId])).toString('base64url');
}

const CURSOR_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function parseCursor(text: string): DeliveryCursor {
  try {
    const [createdUs, deliveryId, ...rest] = JSON.parse(
      Buffer.from(text, 'base64url').toString(),
    ) as unknown[];
    if (
      Number.isSafeInteger(createdUs) &&
      typeof deliveryId === 'string' &&
      CURSOR_ID.test(deliveryId) &&
      rest.length === 0
    )
      return { createdUs: createdUs as number, deliveryId };
  } catch {
    // Told below.
  }
  throw new RowmillError('CURSOR_INVALID', 'expected `after` to be the `next` of an answer');
}
