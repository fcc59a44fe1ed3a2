// Changes the URL or events of a webhook, or enables or disables it.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { changeWebhookRow } from '../../store/commands/events/change-webhooks.ts';
import { readWebhook, type Webhook } from '../../store/views/events/read-webhooks.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { checkWebhookUrl } from './webhook-target.ts';

export interface WebhookPatch {
  url?: string | undefined;
  kinds?: readonly string[] | undefined;
  description?: string | undefined;
  state?: 'ACTIVE' | 'DISABLED' | undefined;
}

export async function changeWebhook(
  context: EngineContext,
  webhookId: string,
  owners: readonly string[] | null,
  patch: WebhookPatch,
): Promise<Webhook> {
  const target = patch.url === undefined ? {} : await checkNewUrl(context, webhookId, owners, patch.url);
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const changed = await changeWebhookRow(tx, webhookId, owners, { ...patch, ...target });
      if (changed === null) throw webhookNotFound(webhookId);
      const { url: _, ...rest } = patch;
      // URLs can contain tokens, so the audit log gets only the host.
      const detail = { ...rest, ...('host' in target && { host: target.host }) };
      await recordAudit(tx, context, { action: 'webhook.change', subject: `webhook ${webhookId}`, detail });
      return changed;
    }),
  );
}

/** The format never changes, so the URL has to fit it. */
async function checkNewUrl(
  { db, settings }: EngineContext,
  webhookId: string,
  owners: readonly string[] | null,
  url: string,
): Promise<{ url: string; host: string }> {
  const webhook = await readWebhook(db, webhookId, owners);
  if (webhook === null) throw webhookNotFound(webhookId);
  return checkWebhookUrl(url, webhook.format, settings);
}

/** Also used for a webhook of another owner. */
export function webhookNotFound(webhookId: string): RowmillError {
  return new RowmillError('WEBHOOK_NOT_FOUND', `there is no webhook ${webhookId}`);
}
