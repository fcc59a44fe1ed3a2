import type { Executor, Statement } from '../../../platform/database.ts';

export const WEBHOOK_COLUMNS = `webhook_id as "webhookId", owner_id as "ownerId", format, url, kinds, description, state,
  disabled_because as "disabledBecause", created_by as "createdBy", created_at as "createdAt",
  last_delivered_at as "lastDeliveredAt"`;

// Ownership is part of the query; null owners match all. Index: webhooks_by_owner.
const LIST_WEBHOOKS: Statement = {
  name: 'list-webhooks',
  text: `
    select ${WEBHOOK_COLUMNS} from webhooks
    where $1::text[] is null or owner_id = any($1::text[])
    order by created_at, webhook_id
    limit $2`,
};

// Index: webhooks_pkey.
const READ_WEBHOOK: Statement = {
  name: 'read-webhook',
  text: `
    select ${WEBHOOK_COLUMNS} from webhooks
    where webhook_id = $1 and ($2::text[] is null or owner_id = any($2::text[]))`,
};

// Webhooks that a person should look at: disabled automatically, or with a message that failed and waits for its next
// attempt. Indexes: webhooks_by_owner, then deliveries_due.
const LIST_FAILING_WEBHOOKS: Statement = {
  name: 'list-failing-webhooks',
  text: `
    select w.webhook_id as "webhookId", w.url,
      coalesce(w.disabled_because, d.last_error, 'the last attempt failed') as reason
    from webhooks w
    left join lateral (
      select d.last_error from deliveries d
      where d.webhook_id = w.webhook_id and d.state = 'PENDING' and d.attempts > 0
      limit 1
    ) d on true
    where ($1::text[] is null or w.owner_id = any($1::text[]))
      and (w.disabled_because is not null or w.state = 'ACTIVE' and d is not null)
    order by w.created_at, w.webhook_id
    limit $2`,
};

export type WebhookFormat = 'signed' | 'slack' | 'mail';

export interface Webhook {
  webhookId: string;
  ownerId: string;
  format: WebhookFormat;
  url: string;
  kinds: string[];
  description: string;
  state: 'ACTIVE' | 'DISABLED';
  disabledBecause: string | null;
  createdBy: string | null;
  createdAt: Date;
  lastDeliveredAt: Date | null;
}

export async function listWebhooks(
  db: Executor,
  owners: readonly string[] | null,
  limit = 1000,
): Promise<Webhook[]> {
  return (await db.run<Webhook>(LIST_WEBHOOKS, [owners, limit])).rows;
}

export async function listFailingWebhooks(
  db: Executor,
  owners: readonly string[] | null,
  limit: number,
): Promise<{ webhookId: string; url: string; reason: string }[]> {
  return (
    await db.run<{ webhookId: string; url: string; reason: string }>(LIST_FAILING_WEBHOOKS, [owners, limit])
  ).rows;
}

/** Returns null if there is no such webhook or it belongs to another owner. */
export async function readWebhook(
  db: Executor,
  webhookId: string,
  owners: readonly string[] | null,
): Promise<Webhook | null> {
  return (await db.run<Webhook>(READ_WEBHOOK, [webhookId, owners])).rows[0] ?? null;
}
