// The body of a message, by the format of its webhook. It is created once and the same at each attempt.
import { type Alert, alertOf, chatText, TEST_ALERT } from '../../core/jobs/alert-text.ts';
import { wallClockMs } from '../../platform/clock.ts';
import type { Settings } from '../../platform/settings.ts';
import type { EventToTell } from '../../store/commands/events/take-events.ts';
import type { WebhookFormat } from '../../store/views/events/read-webhooks.ts';

export function bodyOf(told: EventToTell, format: WebhookFormat, settings: Settings): string {
  const { eventId: _, webhook: __, jobName, ...event } = told;
  if (format !== 'signed')
    return alertBody(alertOf({ ...event, jobName }, linkOf(event.jobId, settings)), format);
  // Type, timestamp and data, as Standard Webhooks recommends.
  const at = event.at.toISOString();
  return JSON.stringify({ type: event.kind, timestamp: at, data: { ...event, at } });
}

export function testBodyOf(webhookId: string, format: WebhookFormat): string {
  if (format !== 'signed') return alertBody(TEST_ALERT, format);
  const timestamp = new Date(wallClockMs()).toISOString();
  return JSON.stringify({ type: 'webhook.test', timestamp, data: { webhookId } });
}

function alertBody(alert: Alert, format: 'slack' | 'mail'): string {
  return JSON.stringify(format === 'slack' ? { text: chatText(alert) } : alert);
}

function linkOf(jobId: string, { apiPublicUrl }: Settings): string {
  return `${apiPublicUrl.replace(/\/$/, '')}/jobs/${jobId}`;
}
