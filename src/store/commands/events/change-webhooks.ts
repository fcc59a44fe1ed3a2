import type { Executor, Statement } from '../../../platform/database.ts';
import { WEBHOOK_COLUMNS, type Webhook, type WebhookFormat } from '../../views/events/read-webhooks.ts';

// Held until commit, so the count after it is exact.
const LOCK_OWNER: Statement = {
  name: 'lock-owner-of-webhooks',
  text: `select pg_advisory_xact_lock(hashtextextended('rowmill webhooks of ' || $1, 0))`,
};

const INSERT_WEBHOOK: Statement = {
  name: 'insert-webhook',
  text: `
    insert into webhooks (webhook_id, owner_id, url, host, kinds, description, secret, created_by, format)
    select $1, $2, $3, $4, $5, $6, $7, $9, $10
    where (select count(*) from webhooks where owner_id = $2) < $8
    on conflict (webhook_id) do nothing
    returning ${WEBHOOK_COLUMNS}`,
};

// Omitted values stay unchanged. Changing the state clears the reason for which it was disabled.
const CHANGE_WEBHOOK: Statement = {
  name: 'change-webhook',
  text: `
    update webhooks
    set url = coalesce($3, url), host = coalesce($4, host), kinds = coalesce($5, kinds),
        description = coalesce($6, description), state = coalesce($7, state),
        disabled_because = case when $7::text is null then disabled_because end
    where webhook_id = $1 and ($2::text[] is null or owner_id = any($2::text[]))
    returning ${WEBHOOK_COLUMNS}`,
};

const DELETE_WEBHOOK: Statement = {
  name: 'delete-webhook',
  text: `delete from webhooks where webhook_id = $1 and ($2::text[] is null or owner_id = any($2::text[]))`,
};

const ROTATE_SECRET: Statement = {
  name: 'rotate-webhook-secret',
  text: `
    update webhooks
    set old_secret = secret, old_secret_until = now() + $4::float8 * interval '1 millisecond', secret = $3
    where webhook_id = $1 and ($2::text[] is null or owner_id = any($2::text[])) and secret <> $3 and format = 'signed'`,
};

// The receiver does not want more messages. A user may have disabled the webhook in the meantime.
const DISABLE_WEBHOOK: Statement = {
  name: 'disable-webhook',
  text: `update webhooks set state = 'DISABLED', disabled_because = $2 where webhook_id = $1 and state = 'ACTIVE'`,
};

// Guards against a concurrent disabling of the account: either this sees it, or DISABLE_WEBHOOKS_OF sees the webhook.
const LOCK_CREATOR: Statement = {
  name: 'lock-creator-of-webhook',
  text: 'select disabled from users where user_id = $1 for share',
};

// Older webhooks have no creator; those of a team stay active. Indexes: webhooks_by_creator, webhooks_by_owner.
const DISABLE_WEBHOOKS_OF: Statement = {
  name: 'disable-webhooks-of',
  text: `
    update webhooks
    set state = 'DISABLED', disabled_because = 'the account ' || $1 || ', which created it, was disabled'
    where state = 'ACTIVE' and (created_by = $1 or created_by is null and owner_id = $1)`,
};

export interface NewWebhook {
  webhookId: string;
  ownerId: string;
  format: WebhookFormat;
  url: string;
  host: string;
  kinds: readonly string[];
  description: string;
  /** Encrypted. Unused unless messages are signed. */
  secret: string;
  createdBy: string;
}

/** Whether the account has been disabled; false on a server without accounts. */
export async function isCreatorDisabled(tx: Executor, userId: string): Promise<boolean> {
  return (await tx.run<{ disabled: boolean }>(LOCK_CREATOR, [userId])).rows[0]?.disabled ?? false;
}

/** Returns the number of webhooks that were active. */
export async function disableWebhooksOf(tx: Executor, userId: string): Promise<number> {
  return (await tx.run(DISABLE_WEBHOOKS_OF, [userId])).rowCount ?? 0;
}

/** Returns null if the owner has reached the limit. */
export async function insertWebhook(
  tx: Executor,
  webhook: NewWebhook,
  most: number,
): Promise<Webhook | null> {
  const { webhookId, ownerId, format, url, host, kinds, description, secret, createdBy } = webhook;
  await tx.run(LOCK_OWNER, [ownerId]);
  const values = [webhookId, ownerId, url, host, kinds, description, secret, most, createdBy, format];
  return (await tx.run<Webhook>(INSERT_WEBHOOK, values)).rows[0] ?? null;
}

export interface WebhookChange {
  url?: string | undefined;
  host?: string | undefined;
  kinds?: readonly string[] | undefined;
  description?: string | undefined;
  state?: 'ACTIVE' | 'DISABLED' | undefined;
}

/** Returns null if there is no such webhook or it belongs to another owner, as do the functions below. */
export async function changeWebhookRow(
  tx: Executor,
  webhookId: string,
  owners: readonly string[] | null,
  { url, host, kinds, description, state }: WebhookChange,
): Promise<Webhook | null> {
  const values = [webhookId, owners, url, host, kinds, description, state].map((value) => value ?? null);
  return (await tx.run<Webhook>(CHANGE_WEBHOOK, values)).rows[0] ?? null;
}

export async function deleteWebhookRow(
  tx: Executor,
  webhookId: string,
  owners: readonly string[] | null,
): Promise<boolean> {
  return (await tx.run(DELETE_WEBHOOK, [webhookId, owners])).rowCount === 1;
}

export async function rotateSecret(
  tx: Executor,
  request: { webhookId: string; owners: readonly string[] | null; secret: string; bothMs: number },
): Promise<boolean> {
  const { webhookId, owners, secret, bothMs } = request;
  return (await tx.run(ROTATE_SECRET, [webhookId, owners, secret, bothMs])).rowCount === 1;
}

export async function disableWebhook(tx: Executor, webhookId: string, because: string): Promise<boolean> {
  return (await tx.run(DISABLE_WEBHOOK, [webhookId, because])).rowCount === 1;
}
