// Signs messages as Standard Webhooks specifies: HMAC-SHA256 over id, timestamp and body, in base64 after `v1,`.
import { createHmac } from 'node:crypto';

export const SECRET_PREFIX = 'whsec_';

/** Returns one signature per secret, separated by spaces. There are two while a secret is rotated. */
export function signWebhook(
  secrets: readonly string[],
  message: { id: string; timestamp: number; body: string },
): string {
  const { id, timestamp, body } = message;
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
