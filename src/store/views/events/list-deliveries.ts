import type { Executor, Statement } from '../../../platform/database.ts';
import { cursorTime } from '../jobs/jobs-page.ts';

export const DELIVERY_COLUMNS = `d.delivery_id, d.webhook_id, d.kind, d.job_id, d.state, d.attempts, d.next_attempt_at, d.last_status,
  d.last_error, d.last_ms, d.created_at, d.delivered_at`;

// Newest first, starting after the cursor. Index: deliveries_by_webhook.
const LIST_DELIVERIES: Statement = {
  name: 'list-deliveries',
  text: `
    select ${DELIVERY_COLUMNS}, ${cursorTime('d.created_at')} as cursor_time from deliveries d
    where d.webhook_id = $1 and ($2::text is null or d.state = $2)
      and ($3::timestamptz is null or (d.created_at, d.delivery_id) < ($3, $4::uuid))
    order by d.created_at desc, d.delivery_id desc
    limit $5`,
};

export type DeliveryState = 'PENDING' | 'DELIVERED' | 'DEAD';

export interface DeliveryRow {
  delivery_id: string;
  webhook_id: string;
  kind: string;
  job_id: string | null;
  state: DeliveryState;
  attempts: number;
  next_attempt_at: Date;
  last_status: number | null;
  last_error: string | null;
  last_ms: number | null;
  created_at: Date;
  delivered_at: Date | null;
}

export interface Delivery {
  deliveryId: string;
  webhookId: string;
  kind: string;
  jobId: string | null;
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

/** The webhook-id header: the same for each attempt, by any process. */
export function messageIdOf(deliveryId: string): string {
  return `msg_${deliveryId.replaceAll('-', '')}`;
}

export function toDelivery(row: DeliveryRow): Delivery {
  return {
    deliveryId: row.delivery_id,
    webhookId: row.webhook_id,
    kind: row.kind,
    jobId: row.job_id,
    messageId: messageIdOf(row.delivery_id),
    state: row.state,
    attempts: row.attempts,
    nextAttemptAt: row.state === 'PENDING' ? row.next_attempt_at : null,
    lastStatus: row.last_status,
    lastError: row.last_error,
    lastMs: row.last_ms,
    createdAt: row.created_at,
    deliveredAt: row.delivered_at,
  };
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
  const { rows } = await db.run<DeliveryRow & { cursor_time: string } & Record<string, unknown>>(
    LIST_DELIVERIES,
    values,
  );
  return rows.map((row) => ({ ...toDelivery(row), cursorTime: row.cursor_time }));
}
