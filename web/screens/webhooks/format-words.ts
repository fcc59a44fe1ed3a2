// Formats of webhooks in words, and their receiver without the technical prefix.
import type { z } from 'zod';
import type { webhook } from '../../../src/contract/webhooks.ts';

type Webhook = z.infer<typeof webhook>;
export type WebhookFormat = Webhook['format'];

export const FORMAT_WORDS: Record<WebhookFormat, string> = {
  mail: 'Mail',
  slack: 'Chat (Slack)',
  signed: 'Webhook',
};

export function receiverOf({ url, format }: Pick<Webhook, 'url' | 'format'>): string {
  return format === 'mail' ? url.replace(/^mailto:/i, '') : url;
}
