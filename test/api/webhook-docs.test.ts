// The receiver code in docs/webhooks.md works as documented.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { signWebhook } from '../../src/platform/webhook-signature.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

async function codeOfDocs(): Promise<
  (headers: Record<string, string>, body: string, secret: string, nowMs: number) => boolean
> {
  const text = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
  const code = /```js\n([\s\S]*?)```/.exec(text)![1]!;
  const module = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  return module.isFromRowmill;
}

test('accepts a genuine message, and refuses one that is forged, changed or old', async () => {
  const isFromRowmill = await codeOfDocs();
  const body = '{"type":"job.finished"}';
  const timestamp = 1_767_225_600;
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(['whsec_b3RoZXI=', SECRET], { id: 'msg_1', timestamp, body }),
  };
  const nowMs = timestamp * 1000;
  expect(isFromRowmill(headers, body, SECRET, nowMs)).toBe(true);
  expect(isFromRowmill(headers, `${body} `, SECRET, nowMs)).toBe(false);
  expect(isFromRowmill({ ...headers, 'webhook-id': 'msg_2' }, body, SECRET, nowMs)).toBe(false);
  expect(isFromRowmill(headers, body, 'whsec_d3Jvbmc=', nowMs)).toBe(false);
  expect(isFromRowmill(headers, body, SECRET, nowMs + 301_000)).toBe(false);
  expect(isFromRowmill({ ...headers, 'webhook-signature': 'v1,' }, body, SECRET, nowMs)).toBe(false);
});
