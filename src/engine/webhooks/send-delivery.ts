// One attempt to deliver one message: signed through the guard, or by mail. The result is recorded if the lease is
// still held. If the result cannot be recorded, the message is sent again with the same id.
import type { Alert } from '../../core/jobs/alert-text.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import { parseRetryAfter, webhookDelayMs } from '../../core/retries/webhook-retry.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { type GuardOptions, guardedPost } from '../../platform/guarded-http.ts';
import { randomFraction } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { isRefusedForGood, replyOf, sendMail } from '../../platform/send-mail.ts';
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
import { mailAddressOf, secretPurpose } from './webhook-target.ts';

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
  let answer: Answer;
  try {
    answer =
      delivery.format === 'mail'
        ? await mail(context, delivery, headers)
        : await post(context, delivery, { headers, timestamp, sending });
  } catch (cause) {
    // Not the receiver's fault: the lease expires and another process retries.
    if (sending.signal?.aborted) return null;
    const error = toStorableText((cause as Error).message, ERROR_MAX_LENGTH);
    answer = { status: null, ms: 0, body: null, error, isFinal: false };
  }
  faultPoint('webhook.after_answer');
  const result = { ...decide(delivery, answer, sending.maxAttempts), headers };
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const ended = await endAttempt(tx, delivery, result);
      if (ended !== null && answer.status === GONE) {
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

/** How the receiver took a message. */
interface Answer {
  /** HTTP status or SMTP reply code; null without a response. */
  status: number | null;
  ms: number;
  body: string | null;
  /** Null if the message was delivered. */
  error: string | null;
  /** A further attempt cannot help. */
  isFinal: boolean;
  retryAfter?: string | undefined;
}

/** Without the signature, which is not stored. */
function headersOf({ messageId, format, url }: ClaimedDelivery, timestamp: number): Record<string, string> {
  if (format === 'mail') return { to: mailAddressOf(url), 'message-id': `<${messageId}@rowmill>` };
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
): Promise<Answer> {
  const { guard, signal } = sending;
  const answer = await guardedPost(guard, {
    url: delivery.url,
    headers: {
      ...headers,
      ...(delivery.format === 'signed' && (await signatureOf(context, delivery, timestamp))),
    },
    body: delivery.body,
    timeoutMs: context.settings.webhookTimeoutMs,
    ...(signal && { signal }),
  });
  const { status } = answer;
  const isDelivered = status >= 200 && status < 300;
  const error = isDelivered ? null : `expected a status from 200 to 299, got ${status}`;
  return { ...answer, error, isFinal: status === GONE };
}

async function signatureOf(
  context: EngineContext,
  { webhookId, messageId: id, body, secrets }: ClaimedDelivery,
  timestamp: number,
): Promise<Record<string, string>> {
  const box = await secretBoxOf(context);
  const opened = secrets.map((secret) => box.open(secret, secretPurpose(webhookId)));
  return { 'webhook-signature': signWebhook(opened, { id, timestamp, body }) };
}

async function mail(
  { settings }: EngineContext,
  { url, body }: ClaimedDelivery,
  headers: Record<string, string>,
): Promise<Answer> {
  const { subject, text } = JSON.parse(body) as Alert;
  const to = mailAddressOf(url);
  const messageId = headers['message-id']!;
  try {
    const sent = await sendMail(settings, {
      to,
      subject,
      text,
      messageId,
      timeoutMs: settings.webhookTimeoutMs,
    });
    return { ...sent, error: null, isFinal: false };
  } catch (error) {
    const reply = replyOf(error) ?? { status: null, body: null };
    const message = toStorableText((error as Error).message, ERROR_MAX_LENGTH);
    return { ...reply, ms: 0, error: message, isFinal: isRefusedForGood(error) };
  }
}

function decide(
  { attempts, earlierAttempts }: ClaimedDelivery,
  { status, ms, body, error, isFinal, retryAfter }: Answer,
  maxAttempts: number,
): Omit<AttemptResult, 'headers'> {
  const response = body === null ? null : toStorableText(body, RESPONSE_MAX_LENGTH);
  if (error === null) return { state: 'DELIVERED', status, error, ms, delayMs: 0, response };
  const retryAfterMs = parseRetryAfter(retryAfter, wallClockMs());
  const attempt = attempts - earlierAttempts;
  const delayMs = isFinal ? null : webhookDelayMs(attempt, maxAttempts, randomFraction(), retryAfterMs);
  const state = delayMs === null ? 'DEAD' : 'PENDING';
  return { state, status, error, ms, delayMs: delayMs ?? 0, response };
}
