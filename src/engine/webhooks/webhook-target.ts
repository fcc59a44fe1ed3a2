// Addresses that webhooks may use, from the settings, and the purpose that their secrets are bound to.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { parseAddressRanges } from '../../platform/address-ranges.ts';
import {
  checkPublicForm,
  checkTarget,
  type GuardOptions,
  parseGuardedUrl,
} from '../../platform/guarded-http.ts';
import type { Settings } from '../../platform/settings.ts';

export function guardOf({ webhookAllow }: Settings): GuardOptions {
  return { allow: parseAddressRanges(webhookAllow) };
}

/** The purpose a secret is bound to when it is stored. */
export function secretPurpose(webhookId: string): string {
  return `webhook ${webhookId}`;
}

/** Returns the URL as stored, and its host. A host name that cannot be resolved now may be resolvable later. */
export async function checkWebhookUrl(
  text: string,
  guard: GuardOptions,
): Promise<{ url: string; host: string }> {
  const url = parseGuardedUrl(text);
  await checkTarget(url, guard).catch((error: unknown) => {
    if (error instanceof RowmillError) throw error;
    checkPublicForm(url);
  });
  return { url: url.href, host: url.hostname };
}
