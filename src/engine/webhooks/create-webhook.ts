// Creates a webhook for an owner. Its secret is returned only once, if messages are signed.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { randomSecret } from '../../platform/secret-box.ts';
import { SECRET_PREFIX } from '../../platform/webhook-signature.ts';
import { insertWebhook, isCreatorDisabled } from '../../store/commands/events/change-webhooks.ts';
import { readWebhook, type Webhook, type WebhookFormat } from '../../store/views/events/read-webhooks.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { secretBoxOf } from './secret-box-of.ts';
import { checkWebhookUrl, secretPurpose } from './webhook-target.ts';

export interface WebhookRequest {
  ownerId: string;
  /** Account that creates it. Default: the owner. */
  createdBy?: string;
  /** Default: mail if the URL starts with mailto:, otherwise signed. */
  format?: WebhookFormat | undefined;
  url: string;
  kinds: readonly string[];
  description: string;
}

export async function createWebhook(
  context: EngineContext,
  { ownerId, createdBy = ownerId, url, format = formatOf(url), kinds, description }: WebhookRequest,
): Promise<{ webhook: Webhook; secret: string | null }> {
  const { db, settings } = context;
  const target = await checkWebhookUrl(url, format, settings);
  const webhookId = newId();
  const secret = SECRET_PREFIX + randomSecret();
  const stored = (await secretBoxOf(context)).seal(secret, secretPurpose(webhookId));
  const webhook = await retryPassing(() =>
    db.transaction(async (tx) => {
      if (await isCreatorDisabled(tx, createdBy))
        throw new RowmillError('FORBIDDEN', `the account ${createdBy} is disabled`);
      const row = { webhookId, ownerId, format, ...target, kinds, description, secret: stored, createdBy };
      const inserted = await insertWebhook(tx, row, settings.ownerMaxWebhooks);
      if (inserted === null) return readWebhook(tx, webhookId, null);
      const detail = { ownerId, format, host: target.host, kinds };
      await recordAudit(tx, context, { action: 'webhook.create', subject: `webhook ${webhookId}`, detail });
      return inserted;
    }),
  );
  if (webhook === null)
    throw new RowmillError(
      'QUOTA_EXCEEDED',
      `expected at most ${settings.ownerMaxWebhooks} webhooks of one owner (ownerMaxWebhooks)`,
    );
  return { webhook, secret: format === 'signed' ? secret : null };
}

function formatOf(url: string): WebhookFormat {
  return /^mailto:/i.test(url) ? 'mail' : 'signed';
}
