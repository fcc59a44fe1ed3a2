// rowmill webhooks: programs that a server notifies of events of jobs (docs/webhooks.md).
import type { z } from 'zod';
import type { EventKind } from '../../contract/event-kinds.ts';
import type { delivery, deliveryDetail, webhook } from '../../contract/webhooks.ts';
import { confirm, type ConfirmOptions } from '../confirm.ts';
import { printable } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import { withServer } from '../remote/with-server.ts';
import { textTable } from '../text-table.ts';

type Webhook = z.infer<typeof webhook>;
type Delivery = z.infer<typeof delivery>;

export interface WebhooksOptions extends TargetOptions, ConfirmOptions {
  json?: boolean;
  all?: boolean;
}

export interface NewWebhookOptions extends WebhooksOptions {
  events?: string[];
  description?: string;
  format?: Webhook['format'];
}

export interface DeliveriesOptions extends WebhooksOptions {
  state?: Delivery['state'];
  limit?: number;
}

export async function listWebhooksOf(options: WebhooksOptions): Promise<number> {
  return withServer(options, 'webhooks', async (client) => {
    const { items } = await client.listWebhooks({ all: options.all });
    if (options.json) console.log(JSON.stringify(items));
    else if (items.length === 0) console.log('No webhooks. Add one with: rowmill webhooks add <url>');
    else {
      const headers = ['Webhook', 'State', 'URL', 'Events', 'Owner', 'Last delivery'];
      const rows = items.map((each) => [
        ...[each.webhookId, each.state, each.url, each.kinds.join(','), each.ownerId],
        each.lastDeliveredAt?.slice(0, 16).replace('T', ' ') ?? 'never',
      ]);
      console.log(textTable(headers, rows, { drop: ['Owner', 'Last delivery', 'Events'] }).join('\n'));
    }
    return 0;
  });
}

export async function showWebhook(webhookId: string, options: WebhooksOptions): Promise<number> {
  return withServer(options, 'webhooks', async (client) => {
    const found = await client.getWebhook({ webhookId });
    if (options.json) console.log(JSON.stringify(found));
    else for (const line of describeWebhook(found)) console.log(line);
    return 0;
  });
}

function* describeWebhook(each: Webhook): Generator<string> {
  yield `${each.webhookId}  ${each.state}  ${printable(each.url)}`;
  yield `  Format: ${each.format}`;
  yield `  Events: ${each.kinds.join(', ')}`;
  if (each.description !== '') yield `  Description: ${printable(each.description)}`;
  if (each.disabledBecause !== null) yield `  Disabled: ${printable(each.disabledBecause)}`;
  yield `  Owner: ${printable(each.ownerId)}, created ${each.createdAt}, last delivery ${each.lastDeliveredAt ?? 'never'}`;
}

export async function addWebhook(url: string, options: NewWebhookOptions): Promise<number> {
  return withServer(options, 'webhooks', async (client) => {
    const { events, description, format } = options;
    const made = await client.createWebhook({
      url,
      ...(events && { kinds: events as EventKind[] }),
      ...(description !== undefined && { description }),
      ...(format !== undefined && { format }),
    });
    if (options.json) console.log(JSON.stringify(made));
    else if (made.secret === null) console.log(`Webhook ${made.webhookId} is added`);
    else {
      console.error(`Webhook ${made.webhookId}. Copy its secret now; it is not shown again:`);
      console.log(made.secret);
    }
    return 0;
  });
}

export async function testWebhookOf(webhookId: string, options: WebhooksOptions): Promise<number> {
  return withServer(options, 'webhooks', async (client) => {
    const sent = await client.testWebhook({ webhookId });
    console.log(options.json ? JSON.stringify(sent) : describeDelivery(sent));
    return sent.state === 'DELIVERED' ? 0 : 1;
  });
}

export async function listDeliveriesOf(webhookId: string, options: DeliveriesOptions): Promise<number> {
  return withServer(options, 'webhooks', async (client) => {
    const { state, limit = 50 } = options;
    const { items } = await client.listDeliveries({ webhookId, state, limit: Math.min(limit, 200) });
    if (options.json) console.log(JSON.stringify(items));
    else if (items.length === 0) console.log('No deliveries');
    else {
      const headers = ['Delivery', 'State', 'Event', 'Attempts', 'Status', 'Created', 'Error'];
      const rows = items.map((each) => [
        ...[each.deliveryId, each.state, each.kind, String(each.attempts)],
        each.lastStatus === null ? '-' : String(each.lastStatus),
        each.createdAt.slice(0, 16).replace('T', ' '),
        each.lastError ?? '',
      ]);
      console.log(textTable(headers, rows, { drop: ['Attempts', 'Created', 'Error', 'Status'] }).join('\n'));
    }
    return 0;
  });
}

export async function showDelivery(
  webhookId: string,
  deliveryId: string,
  options: WebhooksOptions,
): Promise<number> {
  return withServer(options, 'webhooks', async (client) => {
    const found = await client.getDelivery({ webhookId, deliveryId });
    if (options.json) console.log(JSON.stringify(found));
    else for (const line of describeAttempts(found)) console.log(line);
    return 0;
  });
}

function* describeAttempts(found: z.infer<typeof deliveryDetail>): Generator<string> {
  yield describeDelivery(found);
  yield `  Message: ${found.messageId}, created ${found.createdAt}, ${found.attempts} attempts`;
  yield `  Payload: ${printable(found.payload)}`;
  for (const { attempt, at, status, error, ms, response } of found.log) {
    yield `  Attempt ${attempt}, ${at}: ${error === null ? `status ${status}` : printable(error)}, ${ms} ms`;
    if (response) yield `    ${printable(response)}`;
  }
}

export async function redeliver(
  webhookId: string,
  deliveryId: string,
  options: WebhooksOptions,
): Promise<number> {
  return withServer(options, 'webhooks', async (client) => {
    const sent = await client.resendDelivery({ webhookId, deliveryId });
    console.log(options.json ? JSON.stringify(sent) : describeDelivery(sent));
    return 0;
  });
}

function describeDelivery({ deliveryId, kind, state, lastStatus, lastError }: Delivery): string {
  const details = [lastStatus === null ? '' : `status ${lastStatus}`, printable(lastError ?? '')];
  const because = details.filter((each) => each !== '').join(', ');
  return `Delivery ${deliveryId} of ${kind}: ${state}${because === '' ? '' : ` (${because})`}`;
}

export async function removeWebhook(webhookId: string, options: WebhooksOptions): Promise<number> {
  return withServer(options, 'webhooks', async (client) => {
    const { url } = await client.getWebhook({ webhookId });
    await confirm(
      `Remove webhook ${webhookId} (${printable(url)})?`,
      'Its pending deliveries are not sent, and its deliveries are deleted.',
      options,
    );
    await client.deleteWebhook({ webhookId });
    console.log(
      options.json ? JSON.stringify({ webhookId, removed: true }) : `Webhook ${webhookId} is removed`,
    );
    return 0;
  });
}
