import type { Executor, Statement } from '../../../platform/database.ts';

export const WEBHOOK_COLUMNS = `webhook_id, owner_id, url, kinds, description, state, disabled_because, created_by, created_at, last_delivered_at`;

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

export interface WebhookRow {
  webhook_id: string;
  owner_id: string;
  url: string;
  kinds: string[];
  description: string;
  state: 'ACTIVE' | 'DISABLED';
  disabled_because: string | null;
  created_by: string | null;
  created_at: Date;
  last_delivered_at: Date | null;
}

export interface Webhook {
  webhookId: string;
  ownerId: string;
  url: string;
  kinds: string[];
  description: string;
  state: 'ACTIVE' | 'DISABLED';
  disabledBecause: string | null;
  createdBy: string | null;
  createdAt: Date;
  lastDeliveredAt: Date | null;
}

export function toWebhook(row: WebhookRow): Webhook {
  return {
    webhookId: row.webhook_id,
    ownerId: row.owner_id,
    url: row.url,
    kinds: row.kinds,
    description: row.description,
    state: row.state,
    disabledBecause: row.disabled_because,
    createdBy: row.created_by,
    createdAt: row.created_at,
    lastDeliveredAt: row.last_delivered_at,
  };
}

export async function listWebhooks(
  db: Executor,
  owners: readonly string[] | null,
  limit = 1000,
): Promise<Webhook[]> {
  const { rows } = await db.run<WebhookRow & Record<string, unknown>>(LIST_WEBHOOKS, [owners, limit]);
  return rows.map(toWebhook);
}

/** Returns null if there is no such webhook or it belongs to another owner. */
export async function readWebhook(
  db: Executor,
  webhookId: string,
  owners: readonly string[] | null,
): Promise<Webhook | null> {
  const { rows } = await db.run<WebhookRow & Record<string, unknown>>(READ_WEBHOOK, [webhookId, owners]);
  return rows[0] ? toWebhook(rows[0]) : null;
}
