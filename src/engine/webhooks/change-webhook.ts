// Changes where a webhook goes, what it is told, or whether it is told anything.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { changeWebhookRow } from '../../store/commands/events/change-webhooks.ts';
import type { Webhook } from '../../store/views/events/read-webhooks.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { checkWebhookUrl, guardOf } from './webhook-target.ts';

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
  const target = patch.url === undefined ? {} : await checkWebhookUrl(patch.url, guardOf(context.settings));
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const changed = await changeWebhookRow(tx, webhookId, owners, { ...patch, ...target });
      if (changed === null) throw webhookNotFound(webhookId);
      const { url: _, ...rest } = patch;
      // Addresses can hold tokens: the audit has the host.
      const detail = { ...rest, ...('host' in target && { host: target.host }) };
      await recordAudit(tx, context, { action: 'webhook.change', subject: `webhook ${webhookId}`, detail });
      return changed;
    }),
  );
}

/** Also for one that belongs to somebody else. */
export function webhookNotFound(webhookId: string): RowmillError {
  return new RowmillError('WEBHOOK_NOT_FOUND', `there is no webhook ${webhookId}`);
}
