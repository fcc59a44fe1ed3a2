import type { Executor, Statement } from '../../../platform/database.ts';
import { cursorTime } from '../jobs/jobs-page.ts';

export const DELIVERY_COLUMNS = `d.delivery_id as "deliveryId", 'msg_' || replace(d.delivery_id::text, '-', '') as "messageId", d.webhook_id as "webhookId", d.kind, d.job_id as "jobId", d.state,
  d.attempts, case when d.state = 'PENDING' then d.next_attempt_at end as "nextAttemptAt", d.last_status as "lastStatus",
  d.last_error as "lastError", d.last_ms as "lastMs", d.created_at as "createdAt", d.delivered_at as "deliveredAt"`;

// Newest first, starting after the cursor. Index: deliveries_by_webhook.
const LIST_DELIVERIES: Statement = {
  name: 'list-deliveries',
  text: `
    select ${DELIVERY_COLUMNS}, ${cursorTime('d.created_at')} as "cursorTime" from deliveries d
    where d.webhook_id = $1 and ($2::text is null or d.state = $2)
      and ($3::timestamptz is null or (d.created_at, d.delivery_id) < ($3, $4::uuid))
    order by d.created_at desc, d.delivery_id desc
    limit $5`,
};

// Index: deliveries_pkey.
const READ_DELIVERY: Statement = {
  name: 'read-delivery',
  text: `
    select ${DELIVERY_COLUMNS}, w.url, d.body as payload, d.attempt_log as log
    from deliveries d join webhooks w using (webhook_id)
    where d.delivery_id = $2 and d.webhook_id = $1`,
};

export type DeliveryState = 'PENDING' | 'DELIVERED' | 'DEAD';

export interface Delivery {
  deliveryId: string;
  webhookId: string;
  kind: string;
  jobId: string | null;
  /** The webhook-id header: the same for each attempt, by any process. */
  messageId: string;
  state: DeliveryState;
  attempts: number;
  nextAttemptAt: Date | null;
  lastStatus: number | null;
  lastError: string | null;
  lastMs: number | null;
  createdAt: Date;
  deliveredAt: Date | null;
}

export async function listDeliveries(
  db: Executor,
  request: {
    webhookId: string;
    state: DeliveryState | null;
    after: readonly [time: string, deliveryId: string] | null;
    limit: number;
  },
): Promise<(Delivery & { cursorTime: string })[]> {
  const { webhookId, state, after, limit } = request;
  const values = [webhookId, state, ...(after ?? [null, null]), limit];
  return (await db.run<Delivery & { cursorTime: string }>(LIST_DELIVERIES, values)).rows;
}

/** One attempt whose result was recorded. */
export interface LoggedAttempt {
  attempt: number;
  at: string;
  status: number | null;
  error: string | null;
  ms: number;
  headers: Record<string, string>;
  response: string | null;
}

export interface DeliveryDetail extends Delivery {
  url: string;
  payload: string;
  /** The last attempts, oldest first. */
  log: LoggedAttempt[];
}

/** Returns null if the webhook has no such delivery. */
export async function readDelivery(
  db: Executor,
  webhookId: string,
  deliveryId: string,
): Promise<DeliveryDetail | null> {
  return (await db.run<DeliveryDetail>(READ_DELIVERY, [webhookId, deliveryId])).rows[0] ?? null;
}
