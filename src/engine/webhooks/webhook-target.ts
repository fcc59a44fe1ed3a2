// Addresses that webhooks may use, from the settings, and the purpose that their secrets are bound to.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { parseAddressRanges } from '../../platform/address-ranges.ts';
import {
  checkPublicForm,
  checkTarget,
  type GuardOptions,
  parseGuardedUrl,
} from '../../platform/guarded-http.ts';
import { canSendMail } from '../../platform/send-mail.ts';
import type { Settings } from '../../platform/settings.ts';
import type { WebhookFormat } from '../../store/views/events/read-webhooks.ts';

export function guardOf({ webhookAllow }: Settings): GuardOptions {
  return { allow: parseAddressRanges(webhookAllow) };
}

/** The purpose a secret is bound to when it is stored. */
export function secretPurpose(webhookId: string): string {
  return `webhook ${webhookId}`;
}

/** One address, without further fields. */
const MAIL_ADDRESS = /^mailto:([^\s@,;:?<>"()]{1,64}@[^\s@,;:?<>"()]{1,255})$/i;
/** All mail goes to one server. */
const MAIL_HOST = 'mailto';

/** The address of a URL for mail. */
export function mailAddressOf(url: string): string {
  return MAIL_ADDRESS.exec(url)?.[1] ?? '';
}

/** Returns the URL as stored, and its host. A host name that cannot be resolved now may be resolvable later. */
export async function checkWebhookUrl(
  text: string,
  format: WebhookFormat,
  settings: Settings,
): Promise<{ url: string; host: string }> {
  if (format === 'mail') {
    if (mailAddressOf(text) === '') throw refused('expected one address, such as mailto:ada@example.org');
    if (!canSendMail(settings))
      throw refused('this server cannot send mail: smtpHost is not set', {
        hint: 'Ask an administrator to set smtpHost and smtpFrom. See docs/webhooks.md.',
      });
    return { url: text, host: MAIL_HOST };
  }
  const url = parseGuardedUrl(text);
  await checkTarget(url, guardOf(settings)).catch((error: unknown) => {
    if (error instanceof RowmillError) throw error;
    checkPublicForm(url);
  });
  return { url: url.href, host: url.hostname };
}

function refused(message: string, options: { hint?: string } = {}): RowmillError {
  return new RowmillError('WEBHOOK_URL_REFUSED', message, options);
}
