import type { Executor, Statement } from '../../../platform/database.ts';
import { DELIVERY_LEASE, fromNow } from '../../lease.ts';
import { DELIVERY_COLUMNS, type Delivery } from '../../views/events/list-deliveries.ts';
import type { WebhookFormat } from '../../views/events/read-webhooks.ts';

const LOGGED_ATTEMPTS = 20;

const SENDING = `d.body, d.earlier_attempts as "earlierAttempts", w.format, w.url, w.host, w.secret, case when w.old_secret_until > now() then w.old_secret end as "oldSecret"`;

// Claims a few deliveries of each webhook, longest due first, so that a receiver with thousands of due messages does
// not delay the others. Skips rows that another process is claiming. Indexes: deliveries_due, webhooks_pkey.
const CLAIM_DELIVERIES: Statement = {
  name: 'claim-deliveries',
  text: `
    with due as (
      select d.delivery_id, d.next_attempt_at, w.host,
             row_number() over (partition by w.host order by d.next_attempt_at, d.delivery_id) as n
      from webhooks w
      cross join lateral (
        select delivery_id, next_attempt_at from deliveries
        where webhook_id = w.webhook_id and state = 'PENDING' and next_attempt_at <= now() and ${DELIVERY_LEASE.isFree()}
        order by next_attempt_at
        limit 2
        for update skip locked
      ) d
      where w.state = 'ACTIVE' and not w.host = any($1::text[])
    ),
    chosen as (
      select delivery_id from due
      where n <= case when host = any($2::text[]) then 1 else 2 end
      order by next_attempt_at
      limit $3
    )
    update deliveries d
    set ${DELIVERY_LEASE.take('$4', '$5')}, attempts = d.attempts + 1
    from chosen c, webhooks w
    where d.delivery_id = c.delivery_id and w.webhook_id = d.webhook_id
    returning ${DELIVERY_COLUMNS}, ${SENDING}`,
};

// Leased from the start, because the process that inserts it sends it immediately.
const INSERT_TEST_DELIVERY: Statement = {
  name: 'insert-test-delivery',
  text: `
    with d as (
      insert into deliveries (webhook_id, kind, body, token, attempts, expires_at)
      select webhook_id, 'webhook.test', $3, $4, 1, ${fromNow('$5')}
      from webhooks where webhook_id = $1 and ($2::text[] is null or owner_id = any($2::text[]))
      returning *
    )
    select ${DELIVERY_COLUMNS}, ${SENDING} from d join webhooks w using (webhook_id)`,
};

// Only the holder of the lease records the result. The log keeps the last attempts.
const END_ATTEMPT: Statement = {
  name: 'end-delivery-attempt',
  text: `
    with d as (
      update deliveries
      set state = $3, last_status = $4, last_error = $5, last_ms = $6, ${DELIVERY_LEASE.release},
          next_attempt_at = ${fromNow('$7')},
          delivered_at = case when $3 = 'DELIVERED' then now() end,
          attempt_log = (case when jsonb_array_length(attempt_log) < ${LOGGED_ATTEMPTS} then attempt_log else attempt_log - 0 end)
            || jsonb_build_object('attempt', attempts, 'at', now(), 'status', $4::int, 'error', $5::text, 'ms', $6::int,
                                  'headers', $8::jsonb, 'response', $9::text)
      where delivery_id = $1 and token = $2 and state = 'PENDING'
      returning *
    ),
    told as (
      update webhooks w set last_delivered_at = now() from d where w.webhook_id = d.webhook_id and d.state = 'DELIVERED'
    )
    select ${DELIVERY_COLUMNS} from d`,
};

// It gets all attempts once more, and counts on. A delivery that is being sent is left alone.
const RESEND: Statement = {
  name: 'resend-delivery',
  text: `
    with d as (
      update deliveries
      set state = 'PENDING', earlier_attempts = attempts, next_attempt_at = now(), delivered_at = null
      where delivery_id = $2 and webhook_id = $1 and token is null
      returning *
    ),
    d_or_sent as (
      select * from d union all
      select * from deliveries where delivery_id = $2 and webhook_id = $1 and token is not null
    )
    select ${DELIVERY_COLUMNS} from d_or_sent d limit 1`,
};

export interface ClaimedDelivery extends Delivery {
  body: string;
  /** Attempts before it was last sent again by a person. */
  earlierAttempts: number;
  format: WebhookFormat;
  url: string;
  host: string;
  /** Encrypted; includes the old secret while it is valid. */
  secrets: string[];
  token: string;
}

type ClaimedRow = Omit<ClaimedDelivery, 'secrets' | 'token'> & { secret: string; oldSecret: string | null };

export async function claimDeliveries(
  db: Executor,
  request: { fullHosts: string[]; halfHosts: string[]; limit: number; token: string; leaseMs: number },
): Promise<ClaimedDelivery[]> {
  const { fullHosts, halfHosts, limit, token, leaseMs } = request;
  const values = [fullHosts, halfHosts, limit, token, leaseMs];
  return (await db.run<ClaimedRow>(CLAIM_DELIVERIES, values)).rows.map((row) => toClaimed(row, token));
}

/** Returns null if there is no such webhook or it belongs to another owner. */
export async function insertTestDelivery(
  tx: Executor,
  request: {
    webhookId: string;
    owners: readonly string[] | null;
    body: string;
    token: string;
    leaseMs: number;
  },
): Promise<ClaimedDelivery | null> {
  const { webhookId, owners, body, token, leaseMs } = request;
  const { rows } = await tx.run<ClaimedRow>(INSERT_TEST_DELIVERY, [webhookId, owners, body, token, leaseMs]);
  return rows[0] ? toClaimed(rows[0], token) : null;
}

function toClaimed({ secret, oldSecret, ...row }: ClaimedRow, token: string): ClaimedDelivery {
  return { ...row, secrets: oldSecret === null ? [secret] : [secret, oldSecret], token };
}

export interface AttemptResult {
  state: 'PENDING' | 'DELIVERED' | 'DEAD';
  status: number | null;
  error: string | null;
  ms: number;
  /** Delay until the next attempt. */
  delayMs: number;
  /** As sent, without signatures. */
  headers: Record<string, string>;
  /** Beginning of the body of the response; null without one. */
  response: string | null;
}

/** Returns null if another process has the delivery by now. */
export async function endAttempt(
  tx: Executor,
  { deliveryId, token }: Pick<ClaimedDelivery, 'deliveryId' | 'token'>,
  { state, status, error, ms, delayMs, headers, response }: AttemptResult,
): Promise<Delivery | null> {
  const told = [state, status, error, Math.round(ms), delayMs, JSON.stringify(headers), response];
  const values = [deliveryId, token, ...told];
  return (await tx.run<Delivery>(END_ATTEMPT, values)).rows[0] ?? null;
}

/** Returns null if there is no such delivery. */
export async function resend(tx: Executor, webhookId: string, deliveryId: string): Promise<Delivery | null> {
  return (await tx.run<Delivery>(RESEND, [webhookId, deliveryId])).rows[0] ?? null;
}
