// One attempt to deliver one message: it is signed and sent through the guard, and the result is recorded if the
// lease is still held. If the result cannot be recorded, the message is sent again with the same id.
import { toStorableText } from '../../core/items/storable-json.ts';
import { parseRetryAfter, webhookDelayMs } from '../../core/retries/webhook-retry.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { type GuardedAnswer, type GuardOptions, guardedPost } from '../../platform/guarded-http.ts';
import { randomFraction } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { VERSION } from '../../platform/version.ts';
import { signWebhook } from '../../platform/webhook-signature.ts';
import { disableWebhook } from '../../store/commands/events/change-webhooks.ts';
import {
  type AttemptResult,
  type ClaimedDelivery,
  endAttempt,
} from '../../store/commands/events/claim-deliveries.ts';
import type { Delivery } from '../../store/views/events/list-deliveries.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';
import { secretBoxOf } from './secret-box-of.ts';
import { secretPurpose } from './webhook-target.ts';

const GONE = 410;
const GONE_REASON = 'the receiver answered 410 Gone: it does not want more messages';
const ERROR_MAX_LENGTH = 500;
const RESPONSE_MAX_LENGTH = 1000;

export interface Sending {
  guard: GuardOptions;
  /** Number of attempts before the message is given up. */
  maxAttempts: number;
  signal?: AbortSignal;
}

/** Returns null if another process has the message by now, or sending was stopped. */
export async function sendDelivery(
  context: EngineContext,
  delivery: ClaimedDelivery,
  sending: Sending,
): Promise<Delivery | null> {
  const timestamp = Math.floor(wallClockMs() / 1000);
  const headers = headersOf(delivery, timestamp);
  let answer: GuardedAnswer | null = null;
  let error: string | null = null;
  try {
    answer = await post(context, delivery, { headers, timestamp, sending });
  } catch (cause) {
    // Not the receiver's fault: the lease expires and another process retries.
    if (sending.signal?.aborted) return null;
    error = toStorableText((cause as Error).message, ERROR_MAX_LENGTH);
  }
  faultPoint('webhook.after_answer');
  const result = { ...decide(delivery, answer, error, sending.maxAttempts), headers };
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const ended = await endAttempt(tx, delivery, result);
      if (ended !== null && answer?.status === GONE) {
        const { webhookId } = delivery;
        if (await disableWebhook(tx, webhookId, GONE_REASON))
          await recordAudit(
            tx,
            { by: { actor: 'webhook sender', requestId: null, address: null } },
            { action: 'webhook.disable', subject: `webhook ${webhookId}`, detail: { because: GONE_REASON } },
          );
      }
      return ended;
    }),
  );
}

/** Without the signature, which is not stored. */
function headersOf({ messageId }: ClaimedDelivery, timestamp: number): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': `rowmill/${VERSION}`,
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
  };
}

async function post(
  context: EngineContext,
  delivery: ClaimedDelivery,
  { headers, timestamp, sending }: { headers: Record<string, string>; timestamp: number; sending: Sending },
): Promise<GuardedAnswer> {
  const { webhookId, messageId: id, body, url } = delivery;
  const { guard, signal } = sending;
  const box = await secretBoxOf(context);
  const secrets = delivery.secrets.map((secret) => box.open(secret, secretPurpose(webhookId)));
  return guardedPost(guard, {
    url,
    headers: { ...headers, 'webhook-signature': signWebhook(secrets, { id, timestamp, body }) },
    body,
    timeoutMs: context.settings.webhookTimeoutMs,
    ...(signal && { signal }),
  });
}

function decide(
  { attempts, earlierAttempts }: ClaimedDelivery,
  answer: GuardedAnswer | null,
  error: string | null,
  maxAttempts: number,
): Omit<AttemptResult, 'headers'> {
  const status = answer?.status ?? null;
  const ms = answer?.ms ?? 0;
  const response = answer === null ? null : toStorableText(answer.body, RESPONSE_MAX_LENGTH);
  if (status !== null && status >= 200 && status < 300)
    return { state: 'DELIVERED', status, error: null, ms, delayMs: 0, response };
  const reason = error ?? `expected a status from 200 to 299, got ${status}`;
  const retryAfterMs = parseRetryAfter(answer?.retryAfter, wallClockMs());
  const attempt = attempts - earlierAttempts;
  const delayMs =
    status === GONE ? null : webhookDelayMs(attempt, maxAttempts, randomFraction(), retryAfterMs);
  const state = delayMs === null ? 'DEAD' : 'PENDING';
  return { state, status, error: reason, ms, delayMs: delayMs ?? 0, response };
}
