// A local receiver of webhooks that checks signatures, keeps the messages and answers as the test wants.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signWebhook } from '../../src/platform/webhook-signature.ts';

export interface ReceivedMessage {
  id: string;
  timestamp: number;
  signatures: string[];
  body: { type: string; timestamp: string; data: Record<string, unknown> };
  text: string;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly messages: readonly ReceivedMessage[];
  /** The most messages that waited for an answer at the same time. */
  readonly mostAtOnce: number;
  answer: (response: ServerResponse, message: ReceivedMessage) => void;
  whenReceived(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startWebhookReceiver(host = '127.0.0.1'): Promise<WebhookReceiver> {
  const messages: ReceivedMessage[] = [];
  const waiters: { count: number; resolve: () => void }[] = [];
  let underWay = 0;
  let most = 0;
  const server = createServer((request, response) => {
    underWay += 1;
    most = Math.max(most, underWay);
    response.once('close', () => {
      underWay -= 1;
    });
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const { headers } = request;
      const message: ReceivedMessage = {
        id: headers['webhook-id'] as string,
        timestamp: Number(headers['webhook-timestamp']),
        signatures: (headers['webhook-signature'] as string | undefined)?.split(' ') ?? [],
        body: JSON.parse(text),
        text,
      };
      messages.push(message);
      receiver.answer(response, message);
      for (const waiter of [...waiters]) if (messages.length >= waiter.count) waiter.resolve();
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  const receiver: WebhookReceiver = {
    url: `http://${host}:${(server.address() as AddressInfo).port}/hook`,
    messages,
    get mostAtOnce() {
      return most;
    },
    answer: (response) => response.writeHead(204).end(),
    whenReceived: (count) =>
      new Promise((resolve) => {
        if (messages.length >= count) resolve();
        else waiters.push({ count, resolve });
      }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

/** Like the receiver's own code: one of the signatures is by its secret. */
export function isSignedWith(secret: string, { id, timestamp, text, signatures }: ReceivedMessage): boolean {
  return signatures.includes(signWebhook([secret], { id, timestamp, body: text }));
}
