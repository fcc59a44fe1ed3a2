// Webhooks of the caller, and their deliveries.
import type { z } from 'zod';
import type { delivery, webhook, webhookRoutes } from '../../contract/webhooks.ts';
import { decodeCursor } from '../../core/paging/cursor.ts';
import { changeWebhook, webhookNotFound } from '../../engine/webhooks/change-webhook.ts';
import { createWebhook } from '../../engine/webhooks/create-webhook.ts';
import { deleteWebhook } from '../../engine/webhooks/delete-webhook.ts';
import { deliveryNotFound, resendDelivery } from '../../engine/webhooks/resend-delivery.ts';
import { rotateWebhookSecret } from '../../engine/webhooks/rotate-webhook-secret.ts';
import { testWebhook } from '../../engine/webhooks/test-webhook.ts';
import { type Delivery, listDeliveries, readDelivery } from '../../store/views/events/list-deliveries.ts';
import { listWebhooks, readWebhook, type Webhook } from '../../store/views/events/read-webhooks.ts';
import { cutPage } from '../answers/cut-page.ts';
import { checkConfirmed, listedFor, ownerOf, seenBy } from '../requests/actor.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import type { Handlers } from '../requests/handler.ts';

/** The same limit as for other messages to one host, so that a slow receiver does not get dozens of requests. */
const TESTS_AT_ONCE = 2;

export const webhookHandlers: Handlers<typeof webhookRoutes> = {
  async listWebhooks({ actor, query, engine }) {
    const found = await listWebhooks(engine.db, listedFor(actor, query.all), query.limit);
    return { items: found.map(toAnswer) };
  },

  async createWebhook({ actor, body, engine }) {
    const made = await createWebhook(engine, { ownerId: ownerOf(actor), createdBy: actor.userId, ...body });
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

  async testWebhook({ actor, params, engine }, { slots }) {
    const release = slots.webhookTests.take(actor.userId, TESTS_AT_ONCE);
    if (!release)
      throw new RetryLaterError(
        'RATE_LIMITED',
        `expected at most ${TESTS_AT_ONCE} test messages of one caller at once`,
        engine.settings.webhookTimeoutMs,
      );
    try {
      return toDeliveryAnswer(await testWebhook(engine, params.webhookId, seenBy(actor)));
    } finally {
      release();
    }
  },

  async listDeliveries({ actor, params, query, engine }) {
    const { webhookId } = params;
    if ((await readWebhook(engine.db, webhookId, seenBy(actor))) === null) throw webhookNotFound(webhookId);
    const { limit, state = null } = query;
    const cursor = { list: `deliveries ${webhookId}`, sort: 'newest', key: ['time', 'uuid'] } as const;
    const after = query.cursor === undefined ? null : decodeCursor(cursor, query.cursor);
    const found = await listDeliveries(engine.db, { webhookId, state, after, limit: limit + 1 });
    return cutPage(found, limit, toDeliveryAnswer, cursor, ({ cursorTime, deliveryId }) => [
      cursorTime,
      deliveryId,
    ]);
  },

  async getDelivery({ actor, params, engine }) {
    const { webhookId, deliveryId } = params;
    const webhook = await readWebhook(engine.db, webhookId, seenBy(actor));
    if (webhook === null) throw webhookNotFound(webhookId);
    const found = await readDelivery(engine.db, webhookId, deliveryId);
    if (found === null) throw deliveryNotFound(webhookId, deliveryId);
    const log = found.log.map((each) => ({
      ...each,
      at: new Date(each.at).toISOString(),
      headers: { ...each.headers, ...(webhook.format === 'signed' && { 'webhook-signature': 'v1,…' }) },
    }));
    return { ...toDeliveryAnswer(found), url: found.url, payload: found.payload, log };
  },

  async resendDelivery({ actor, params, engine }) {
    return toDeliveryAnswer(await resendDelivery(engine, params.webhookId, params.deliveryId, seenBy(actor)));
  },
};

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
