// Kills the sender of webhooks and callbacks at each step between claiming a message and recording its delivery. The
// next sender delivers it: at least once, always with the same id.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { createWebhook } from '../../src/engine/webhooks/create-webhook.ts';
import { FAULT_POINTS } from '../../src/platform/fault-point.ts';
import { killAll, startChild } from '../support/child-process.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { isSignedWith, startWebhookReceiver } from '../support/webhook-receiver.ts';
import { tellWhatIsDue } from './tell-what-is-due.ts';

const database = useTestDatabase();
/** Messages and callback calls that have arrived when the process is dead. One of each is due. */
const ARRIVED: Record<string, { messages: number; calls: number }> = {
  'webhook.after_claim': { messages: 0, calls: 0 },
  'webhook.after_answer': { messages: 1, calls: 0 },
  'callback.after_call': { messages: 1, calls: 1 },
};
const calls: string[] = [];
let service: Server;
let callbackUrl: string;

beforeAll(async () => {
  service = createServer((request, response) => {
    request.on('data', (key) => calls.push(String(key)));
    request.on('end', () => response.end());
  });
  service.listen(0, '127.0.0.1');
  await once(service, 'listening');
  callbackUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}/`;
});
afterEach(killAll);
afterAll(() => {
  service.closeAllConnections();
  service.close();
});

test('every fault point of webhooks and callbacks is exercised here', () => {
  expect(Object.keys(ARRIVED).sort()).toEqual(
    FAULT_POINTS.filter((name) => /^(webhook|callback)\./.test(name)).sort(),
  );
});

test.each(Object.keys(ARRIVED))(
  'every message arrives, with the same id, after a kill at %s',
  async (point) => {
    database.keepIfFailed();
    const context = database.context({ webhookAllow: '127.0.0.1', secretKey: 'none' });
    const receiver = await startWebhookReceiver();
    calls.length = 0;
    const { secret } = await createWebhook(context, {
      ownerId: 'local',
      url: receiver.url,
      kinds: ['job.finished'],
      description: '',
    });
    const { jobId } = await createJob(context, { pipeline: 'told', phases: ['only'] });
    await sealJob(context, jobId);

    const victim = startChild({
      script: new URL('told-child.ts', import.meta.url),
      args: [JSON.stringify({ databaseUrl: database.url, callbackUrl })],
      env: { ROWMILL_FAULT_POINTS: `${point}=kill` },
    });
    expect(await victim.exited, victim.stderrTail).toEqual({ code: null, signal: 'SIGKILL' });
    expect({ messages: receiver.messages.length, calls: calls.length }).toEqual(ARRIVED[point]);

    // Deliveries leased by the dead process are not touched before the lease expires.
    await tellWhatIsDue(context, callbackUrl);
    const isHeld = point.startsWith('webhook') ? ARRIVED[point]!.messages : 1;
    expect(receiver.messages).toHaveLength(isHeld);
    await database.query('update deliveries set expires_at = now() where token is not null');
    await database.query('update callbacks set expires_at = now() where token is not null');
    // Two senders at the same time, so that they compete for it.
    const other = database.context({ webhookAllow: '127.0.0.1', secretKey: 'none' });
    await Promise.all([context, other].map((each) => tellWhatIsDue(each, callbackUrl)));

    const again = point === 'webhook.after_answer' ? 2 : 1;
    expect(receiver.messages).toHaveLength(again);
    expect(new Set(receiver.messages.map(({ id }) => id)).size).toBe(1);
    expect(receiver.messages.every((message) => isSignedWith(secret!, message))).toBe(true);
    expect(receiver.messages.every(({ body }) => body.data.jobId === jobId)).toBe(true);
    expect(calls).toEqual(Array(point === 'callback.after_call' ? 2 : 1).fill(`${jobId}:1:done`));
    expect(await database.query('select state from deliveries')).toEqual([{ state: 'DELIVERED' }]);
    expect(await database.query('select state from callbacks where job_id = $1', [jobId])).toEqual([
      { state: 'DONE' },
    ]);
    await database.query('delete from webhooks');
    await receiver.close();
  },
);

test('a mail arrives again, with the same Message-ID, after a kill between sending and recording', async () => {
  database.keepIfFailed();
  const smtp = await startSmtpReceiver();
  const flags = { smtpHost: '127.0.0.1', smtpPort: smtp.port, smtpFrom: 'mill@example.org', smtpTls: 'none' };
  const context = database.context({ secretKey: 'none', ...flags });
  const url = 'mailto:ada@example.org';
  await createWebhook(context, { ownerId: 'local', url, kinds: ['job.created'], description: '' });
  await createJob(context, { pipeline: 'told', phases: ['only'] });
  const victim = startChild({
    script: new URL('told-child.ts', import.meta.url),
    args: [JSON.stringify({ databaseUrl: database.url, callbackUrl, flags })],
    env: { ROWMILL_FAULT_POINTS: 'webhook.after_answer=kill' },
  });
  expect(await victim.exited, victim.stderrTail).toEqual({ code: null, signal: 'SIGKILL' });
  expect(smtp.mails).toHaveLength(1);
  await database.query('update deliveries set expires_at = now() where token is not null');
  await tellWhatIsDue(context, callbackUrl);
  const ids = smtp.mails.map((mail) => /^Message-ID: (.*)$/im.exec(mail)?.[1]);
  expect(ids).toEqual([expect.stringContaining('@rowmill>'), ids[0]]);
  expect(await database.query('select state, attempts from deliveries')).toEqual([
    { state: 'DELIVERED', attempts: 2 },
  ]);
  await database.query('delete from webhooks');
});
