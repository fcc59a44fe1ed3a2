// Webhooks over the API: events of a job are delivered signed, retried until they are accepted, and sent nowhere else.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { delivery, deliveryDetail, webhook } from '../../src/contract/webhooks.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { pruneEvents } from '../../src/engine/services/event-pruner.ts';
import { WebhookSender } from '../../src/engine/services/webhook-sender.ts';
import { changeWebhook } from '../../src/engine/webhooks/change-webhook.ts';
import { createWebhook } from '../../src/engine/webhooks/create-webhook.ts';
import { deleteWebhook } from '../../src/engine/webhooks/delete-webhook.ts';
import { resendDelivery } from '../../src/engine/webhooks/resend-delivery.ts';
import { rotateWebhookSecret } from '../../src/engine/webhooks/rotate-webhook-secret.ts';
import { takeEvents } from '../../src/engine/webhooks/take-events.ts';
import { testWebhook } from '../../src/engine/webhooks/test-webhook.ts';
import type { Statement } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { listWebhooks, readWebhook } from '../../src/store/views/events/read-webhooks.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { isSignedWith, startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

const database = useTestDatabase();
// One blob store for all servers, because it holds the generated key.
const blobStore = mkdtempSync(join(tmpdir(), 'rowmill-webhooks-'));
afterAll(() => rmSync(blobStore, { recursive: true, force: true }));
const ALLOW = { webhookAllow: '127.0.0.0/8', blobStore };
const receivers: WebhookReceiver[] = [];
const senders: WebhookSender[] = [];

afterEach(async () => {
  await Promise.all(senders.splice(0).map((sender) => sender.stop()));
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
  await database.query('delete from webhooks');
});

async function receive(host?: string): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver(host);
  receivers.push(receiver);
  return receiver;
}

/** A context with a sender that the test runs. */
function engine(settings: Partial<Settings> = {}): { context: EngineContext; sender: WebhookSender } {
  const context = database.context({ ...ALLOW, ...settings });
  const sender = new WebhookSender(context);
  senders.push(sender);
  return { context, sender };
}

async function addWebhook(context: EngineContext, url: string, ownerId = 'local') {
  return createWebhook(context, { ownerId, url, kinds: ['job.created', 'job.paused'], description: '' });
}

const newJob = (context: EngineContext, ownerId = 'local') =>
  createJob(context, { pipeline: 'test', phases: ['only'], ownerId });

interface DeliveryState {
  state: string;
  attempts: number;
  last_status: number | null;
  last_error: string | null;
  due_ms: number;
}

const deliveries = (): Promise<DeliveryState[]> =>
  database.query(`
    select state, attempts, last_status, last_error,
           (extract(epoch from next_attempt_at - now()) * 1000)::float8 as due_ms
    from deliveries order by created_at, delivery_id`);

const countUnderWay = async () =>
  (await database.query('select from deliveries where token is not null')).length;

const makeDue = () => database.query('update deliveries set next_attempt_at = now() where token is null');

type Sent = { method?: string; body?: unknown };

async function call(url: string, path: string, { method = 'GET', body }: Sent = {}) {
  const response = await fetch(`${url}/api/webhooks${path}`, {
    method,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }),
  });
  const text = await response.text();
  return { status: response.status, answer: (text === '' ? null : JSON.parse(text)) as unknown };
}

describe('a webhook', () => {
  test('is created, shown, changed and deleted, with an audit entry for each change and its secret shown once', async () => {
    const { url } = await startTestApi(database.url, { settings: ALLOW });
    const made = await call(url, '', { method: 'POST', body: { url: 'http://127.0.0.1:9/a?token=canary' } });
    expect(made.status).toBe(201);
    const { secret, ...shown } = made.answer as z.infer<typeof webhook> & { secret: string };
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhook.strict().parse(shown)).toMatchObject({
      ownerId: 'local',
      kinds: ['job.finished', 'job.failed'],
      state: 'ACTIVE',
    });
    const path = `/${shown.webhookId}`;
    expect((await call(url, path)).answer).toEqual(shown);
    expect((await call(url, '')).answer).toMatchObject({ items: [shown], next: null });
    const changed = await call(url, path, {
      method: 'PATCH',
      body: { state: 'DISABLED', description: 'off' },
    });
    expect(changed.answer).toEqual({ ...shown, state: 'DISABLED', description: 'off' });
    const rotated = await call(url, `${path}/secret`, { method: 'POST' });
    expect((rotated.answer as { secret: string }).secret).not.toBe(secret);
    expect((await call(url, path, { method: 'DELETE' })).status).toBe(204);
    for (const [method, suffix] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/secret'],
      ['POST', '/test'],
      ['GET', '/deliveries'],
    ] as const) {
      const gone = await call(url, path + suffix, { method });
      expect(gone).toMatchObject({ status: 404, answer: { code: 'WEBHOOK_NOT_FOUND' } });
    }
    const audit = await database.query(
      'select action, actor, detail from audit where subject = $1 order by audit_id',
      [`webhook ${shown.webhookId}`],
    );
    expect(audit.map(({ action }) => action)).toEqual([
      'webhook.create',
      'webhook.change',
      'webhook.rotate',
      'webhook.delete',
    ]);
    expect(JSON.stringify(audit)).not.toContain('canary');
  });

  test.each(['http://example.org/', 'https://10.0.0.1/', 'https://user:secret@example.org/', 'nonsense'])(
    'to %s is refused when it is created and when it is changed',
    async (target) => {
      const { url } = await startTestApi(database.url, { settings: ALLOW });
      const refused = { status: 400, answer: { code: 'WEBHOOK_URL_REFUSED' } };
      expect(await call(url, '', { method: 'POST', body: { url: target } })).toMatchObject(refused);
      const made = await call(url, '', { method: 'POST', body: { url: 'http://127.0.0.1:9/' } });
      const { webhookId } = made.answer as { webhookId: string };
      const change = { method: 'PATCH', body: { url: target } };
      expect(await call(url, `/${webhookId}`, change)).toMatchObject(refused);
    },
  );

  test('over the limit of an owner is refused, also with many concurrent requests', async () => {
    const { url } = await startTestApi(database.url, { settings: { ...ALLOW, ownerMaxWebhooks: 3 } });
    const asked = Array.from({ length: 8 }, () =>
      call(url, '', { method: 'POST', body: { url: 'http://127.0.0.1:9/' } }),
    );
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 201, 201, 429, 429, 429, 429, 429]);
  });

  test('of another owner is answered like a missing one by every route', async () => {
    const { context } = engine();
    const { webhook: theirs } = await addWebhook(context, 'http://127.0.0.1:9/', 'somebody');
    const { webhookId } = theirs;
    const missing = { code: 'WEBHOOK_NOT_FOUND' };
    const mine = ['local', 'team'];
    expect(await readWebhook(context.db, webhookId, mine)).toBeNull();
    await expect(changeWebhook(context, webhookId, mine, { description: 'x' })).rejects.toMatchObject(
      missing,
    );
    await expect(deleteWebhook(context, webhookId, mine)).rejects.toMatchObject(missing);
    await expect(rotateWebhookSecret(context, webhookId, mine)).rejects.toMatchObject(missing);
    await expect(testWebhook(context, webhookId, mine)).rejects.toMatchObject(missing);
    await expect(resendDelivery(context, webhookId, newId(), mine)).rejects.toMatchObject(missing);
    expect(await listWebhooks(context.db, mine)).toEqual([]);
    expect(await listWebhooks(context.db, ['somebody'])).toEqual([theirs]);
    expect(await readWebhook(context.db, webhookId, null)).toEqual(theirs);
  });

  test('stores its secret encrypted if there is a key', async () => {
    const { context, sender } = engine({ secretKey: Buffer.alloc(32, 5).toString('base64') });
    const receiver = await receive();
    const { secret } = await addWebhook(context, receiver.url);
    const [row] = await database.query('select secret from webhooks');
    expect(row!.secret).toMatch(/^sealed1\./);
    await newJob(context);
    await sender.runOnce();
    expect(isSignedWith(secret!, receiver.messages[0]!)).toBe(true);
  });
});

test.each([{ secretKey: 'c2hvcnQ=' }, { webhookAllow: 'my network' }])(
  'a server with %j does not start',
  async (settings) => {
    await expect(startTestApi(database.url, { settings })).rejects.toMatchObject({
      code: 'SETTINGS_INVALID',
    });
  },
);

describe('a message', () => {
  test('has the event, is signed, and goes to the webhooks of the owner for that kind', async () => {
    const { context, sender } = engine();
    const [receiver, other] = [await receive(), await receive()];
    const { secret, webhook: made } = await addWebhook(context, receiver.url);
    await addWebhook(context, other.url, 'somebody');
    const { jobId } = await newJob(context);
    await pauseJob(context, jobId);
    await resumeJob(context, jobId);
    await sender.runOnce();
    expect(receiver.messages.map(({ body }) => body.type).sort()).toEqual(['job.created', 'job.paused']);
    expect(other.messages).toEqual([]);
    const message = receiver.messages.find(({ body }) => body.type === 'job.paused')!;
    expect(isSignedWith(secret!, message)).toBe(true);
    expect(isSignedWith(`whsec_${'A'.repeat(43)}=`, message)).toBe(false);
    expect(message.body.data).toMatchObject({ jobId, ownerId: 'local', state: 'PAUSED', kind: 'job.paused' });
    expect(message.id).toMatch(/^msg_[0-9a-f]{32}$/);
    await sender.runOnce();
    expect(receiver.messages).toHaveLength(2);
    const [row] = await database.query('select last_delivered_at from webhooks where webhook_id = $1', [
      made.webhookId,
    ]);
    expect(row!.last_delivered_at).not.toBeNull();
  });

  test('is not created for events before the webhook, or for a change that was rolled back', async () => {
    const { context, sender } = engine();
    const receiver = await receive();
    await newJob(context);
    await addWebhook(context, receiver.url);
    await context.db
      .transaction(async (tx) => {
        await newJob({
          ...context,
          db: { ...tx, transaction: (work: never) => (work as (t: unknown) => unknown)(tx) } as never,
        });
        throw new Error('undone');
      })
      .catch(() => {});
    await sender.runOnce();
    expect(receiver.messages).toEqual([]);
  });

  test('is signed with both secrets while the old one is valid, then with the new one', async () => {
    const { url } = await startTestApi(database.url, { settings: ALLOW });
    const receiver = await receive();
    const made = await call(url, '', { method: 'POST', body: { url: receiver.url } });
    const { webhookId, secret: old } = made.answer as { webhookId: string; secret: string };
    const rotated = await call(url, `/${webhookId}/secret`, { method: 'POST' });
    const { secret } = rotated.answer as { secret: string };
    await call(url, `/${webhookId}/test`, { method: 'POST' });
    await database.query('update webhooks set old_secret_until = now()');
    await call(url, `/${webhookId}/test`, { method: 'POST' });
    const signedBy = receiver.messages.map((message) => [
      isSignedWith(secret, message),
      isSignedWith(old, message),
    ]);
    expect(signedBy).toEqual([
      [true, true],
      [true, false],
    ]);
  });

  test('that is not accepted is retried with the same id, and finally fails', async () => {
    const { context, sender } = engine({ webhookMaxAttempts: 3 });
    const receiver = await receive();
    receiver.answer = (response) => response.writeHead(500).end('secret body');
    await addWebhook(context, receiver.url);
    await newJob(context);
    await sender.runOnce();
    const [first] = await deliveries();
    expect(first).toMatchObject({ state: 'PENDING', attempts: 1, last_status: 500 });
    expect(first!.due_ms).toBeGreaterThan(1000);
    await sender.runOnce();
    expect(receiver.messages).toHaveLength(1);
    for (const _ of [2, 3]) {
      await makeDue();
      await sender.runOnce();
    }
    expect(await deliveries()).toMatchObject([
      { state: 'DEAD', attempts: 3, last_error: 'expected a status from 200 to 299, got 500' },
    ]);
    expect(new Set(receiver.messages.map(({ id }) => id)).size).toBe(1);
    expect(new Set(receiver.messages.map(({ text }) => text)).size).toBe(1);
    await makeDue();
    await sender.runOnce();
    expect(receiver.messages).toHaveLength(3);
  });

  test.each([
    ['302', 'expected a status from 200 to 299, got 302'],
    ['hangs', 'no answer within 200 ms'],
    ['dies', expect.any(String)],
  ])('to a receiver that answers with %s is not delivered', async (how, error) => {
    const { context, sender } = engine(how === 'hangs' ? { webhookTimeoutMs: 200 } : {});
    const receiver = await receive();
    receiver.answer = (response) => {
      if (how === '302') response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
      if (how === 'dies') response.socket?.destroy();
    };
    await addWebhook(context, receiver.url);
    await newJob(context);
    await sender.runOnce();
    expect(await deliveries()).toMatchObject([{ state: 'PENDING', attempts: 1, last_error: error }]);
  });

  test('waits for the time in Retry-After', async () => {
    const { context, sender } = engine();
    const receiver = await receive();
    receiver.answer = (response) => response.writeHead(429, { 'retry-after': '3000' }).end();
    await addWebhook(context, receiver.url);
    await newJob(context);
    await sender.runOnce();
    const [row] = await deliveries();
    expect(row!.due_ms).toBeGreaterThan(2_900_000);
  });

  test('answered with 410 disables the webhook, which has the reason and can be reactivated', async () => {
    const { url, context } = await startTestApi(database.url, { settings: ALLOW });
    const receiver = await receive();
    receiver.answer = (response) => response.writeHead(410).end();
    const { webhook: made } = await addWebhook(context.engine, receiver.url);
    await newJob(context.engine);
    await receiver.whenReceived(1);
    await expect
      .poll(async () => ((await call(url, `/${made.webhookId}`)).answer as { state: string }).state)
      .toBe('DISABLED');
    const shown = (await call(url, `/${made.webhookId}`)).answer as z.infer<typeof webhook>;
    expect(shown.disabledBecause).toContain('410');
    expect(await deliveries()).toMatchObject([{ state: 'DEAD', last_status: 410 }]);
    await newJob(context.engine);
    await takeEvents(context.engine);
    expect(await deliveries()).toHaveLength(1);
    const active = await call(url, `/${made.webhookId}`, { method: 'PATCH', body: { state: 'ACTIVE' } });
    expect(active.answer).toMatchObject({ state: 'ACTIVE', disabledBecause: null });
  });

  test('is not sent if its address is no longer allowed', async () => {
    const receiver = await receive();
    await addWebhook(engine().context, receiver.url);
    const { context, sender } = engine({ webhookAllow: 'none' });
    await newJob(context);
    await sender.runOnce();
    expect(receiver.messages).toEqual([]);
    expect(await deliveries()).toMatchObject([
      { state: 'PENDING', last_error: expect.stringContaining('expected a public address') },
    ]);
  });
});

describe('senders', () => {
  test('in several processes share the messages and send none twice', async () => {
    const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const targets = await Promise.all(hosts.map((host) => receive(host)));
    const processes = [engine(), engine(), engine()];
    for (const { url } of targets) await addWebhook(processes[0]!.context, url);
    for (let n = 0; n < 20; n += 1) await newJob(processes[0]!.context);
    await Promise.all(processes.map(({ sender }) => sender.runOnce()));
    for (const { messages } of targets) {
      expect(messages).toHaveLength(20);
      expect(new Set(messages.map(({ id }) => id)).size).toBe(20);
    }
    expect(new Set((await deliveries()).map(({ state }) => state))).toEqual(new Set(['DELIVERED']));
  });

  test('have at most two messages in flight to one host, and other hosts do not wait for it', async () => {
    const { context, sender } = engine({ webhooksAtOnce: 4 });
    const [slow, quick] = [await receive('127.0.0.1'), await receive('127.0.0.2')];
    const held: (() => void)[] = [];
    slow.answer = (response) => held.push(() => response.writeHead(200).end());
    await addWebhook(context, slow.url);
    await addWebhook(context, quick.url);
    for (let n = 0; n < 10; n += 1) await newJob(context);
    const round = sender.runOnce();
    await Promise.all([slow.whenReceived(2), quick.whenReceived(10)]);
    expect(slow.messages).toHaveLength(2);
    slow.answer = (response) => response.writeHead(200).end();
    for (const release of held) release();
    await round;
    expect(slow.messages).toHaveLength(10);
    expect(slow.mostAtOnce).toBe(2);
  });

  test('have sent everything when a round ends, including messages claimed while its last answers arrived', async () => {
    const { context } = engine();
    const [slow, quick] = [await receive('127.0.0.1'), await receive('127.0.0.2')];
    const held: (() => void)[] = [];
    slow.answer = (response) => held.push(() => response.writeHead(200).end());
    await addWebhook(context, slow.url);
    await addWebhook(context, quick.url, 'other');
    await newJob(context, 'other');
    for (let n = 0; n < 6; n += 1) await newJob(context);
    // A claim during two messages in flight to a host returns after both have been answered.
    const db = new Proxy(context.db, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (name !== 'run') return typeof member === 'function' ? member.bind(target) : member;
        return async (statement: Statement, values: unknown[]) => {
          const found = await target.run(statement, values);
          if (statement.name === 'claim-deliveries' && (values[0] as string[]).includes('127.0.0.1')) {
            slow.answer = (response) => response.writeHead(200).end();
            for (const release of held.splice(0)) release();
            await expect.poll(countUnderWay).toBe(0);
          }
          return found;
        };
      },
    });
    const sender = new WebhookSender({ ...context, db });
    senders.push(sender);
    await sender.runOnce();
    expect(slow.messages).toHaveLength(6);
  });

  test('accept the result of an expired lease only if no other sender has taken over', async () => {
    const [first, second] = [engine(), engine()];
    const receiver = await receive();
    await addWebhook(first.context, receiver.url);
    await newJob(first.context);
    let release = (): void => {};
    receiver.answer = (response) => {
      release = () => response.writeHead(500).end();
    };
    const late = first.sender.runOnce();
    await receiver.whenReceived(1);
    await database.query('update deliveries set expires_at = now() where token is not null');
    receiver.answer = (response) => response.writeHead(200).end();
    await second.sender.runOnce();
    release();
    await late;
    expect(receiver.messages.map(({ id }) => id)).toEqual([
      receiver.messages[0]!.id,
      receiver.messages[0]!.id,
    ]);
    expect(await deliveries()).toMatchObject([{ state: 'DELIVERED', attempts: 2, last_status: 200 }]);
  });

  test('take every event before it can be pruned', async () => {
    const { context, sender } = engine({ eventKeepMs: 60_000 });
    const receiver = await receive();
    await addWebhook(context, receiver.url);
    await database.query(`update webhooks set created_at = now() - interval '2 hours'`);
    await takeEvents(context);
    await newJob(context);
    await database.query(`update job_events set at = now() - interval '1 hour'`);
    await pruneEvents(context, { deliveries: true });
    await sender.runOnce();
    expect(receiver.messages.map(({ body }) => body.type)).toEqual(['job.created']);
    await pruneEvents(context, { deliveries: true });
    expect(await database.query('select 1 from job_events')).toEqual([]);
  });
});

describe('the log of deliveries', () => {
  test('shows a test message immediately, with its result', async () => {
    const { url } = await startTestApi(database.url, { settings: ALLOW });
    const receiver = await receive();
    const made = await call(url, '', { method: 'POST', body: { url: receiver.url } });
    const { webhookId } = made.answer as { webhookId: string };
    const good = await call(url, `/${webhookId}/test`, { method: 'POST' });
    expect(delivery.strict().parse(good.answer)).toMatchObject({
      kind: 'webhook.test',
      state: 'DELIVERED',
      attempts: 1,
      lastStatus: 204,
    });
    receiver.answer = (response) => response.writeHead(503).end();
    const bad = await call(url, `/${webhookId}/test`, { method: 'POST' });
    expect(bad.answer).toMatchObject({ state: 'DEAD', lastStatus: 503, nextAttemptAt: null });
  });

  test('limits a caller to two concurrent test messages', async () => {
    const { url } = await startTestApi(database.url, { settings: ALLOW });
    const receiver = await receive();
    const answerAll: (() => void)[] = [];
    receiver.answer = (response) => answerAll.push(() => response.writeHead(204).end());
    const made = await call(url, '', { method: 'POST', body: { url: receiver.url } });
    const { webhookId } = made.answer as { webhookId: string };
    const sendTest = () => fetch(`${url}/api/webhooks/${webhookId}/test`, { method: 'POST' });
    const underWay = [sendTest(), sendTest()];
    await receiver.whenReceived(2);
    const third = await sendTest();
    expect(third.status).toBe(429);
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
    for (const answer of answerAll) answer();
    for (const { status } of await Promise.all(underWay)) expect(status).toBe(200);
    receiver.answer = (response) => response.writeHead(204).end();
    expect((await sendTest()).status).toBe(200);
  });

  test('is paged newest first without gaps or duplicates, by state too, and refuses wrong cursors', async () => {
    const { url, context } = await startTestApi(database.url, { settings: ALLOW });
    const { webhook: made } = await addWebhook(context.engine, 'http://127.0.0.1:9/');
    await database.query(
      `insert into deliveries (webhook_id, kind, body, state, created_at)
       select $1, 'job.created', '{}', case when n % 2 = 0 then 'DEAD' else 'DELIVERED' end, now() - (n / 3) * interval '1 second'
       from generate_series(1, 25) n`,
      [made.webhookId],
    );
    const read = async (query: string): Promise<string[]> => {
      const ids: string[] = [];
      let after: string | null = null;
      do {
        const path: string = `/${made.webhookId}/deliveries?pageSize=4${query}${after ? `&after=${after}` : ''}`;
        const { answer } = await call(url, path);
        const page = answer as { items: { deliveryId: string }[]; next: string | null };
        ids.push(...page.items.map(({ deliveryId }) => deliveryId));
        after = page.next;
      } while (after !== null);
      return ids;
    };
    const stored = await database.query<{ delivery_id: string; state: string }>(
      'select delivery_id, state from deliveries order by created_at desc, delivery_id desc',
    );
    expect(await read('')).toEqual(stored.map(({ delivery_id: id }) => id));
    const dead = stored.filter(({ state }) => state === 'DEAD').map(({ delivery_id: id }) => id);
    expect(await read('&state=DEAD')).toEqual(dead);
    for (const wrong of ['x', 'WzFd', Buffer.from('["1",2]').toString('base64url')]) {
      const { status, answer } = await call(url, `/${made.webhookId}/deliveries?after=${wrong}`);
      expect({ status, answer }).toMatchObject({ status: 400, answer: { code: 'CURSOR_INVALID' } });
    }
  });

  test('lets a failed message be resent with the same id', async () => {
    const { context: dead, sender } = engine({ webhookMaxAttempts: 1 });
    const receiver = await receive();
    receiver.answer = (response) => response.writeHead(500).end();
    const { webhook: made } = await addWebhook(dead, receiver.url);
    await newJob(dead);
    await sender.runOnce();
    receiver.answer = (response) => response.writeHead(200).end();
    const { url } = await startTestApi(database.url, { settings: ALLOW });
    const { answer } = await call(url, `/${made.webhookId}/deliveries`);
    const [{ deliveryId, state }] = (answer as { items: { deliveryId: string; state: string }[] }).items as [
      { deliveryId: string; state: string },
    ];
    expect(state).toBe('DEAD');
    const again = await call(url, `/${made.webhookId}/deliveries/${deliveryId}/resend`, { method: 'POST' });
    expect(again).toMatchObject({ status: 202, answer: { state: 'PENDING', attempts: 1 } });
    await receiver.whenReceived(2);
    expect(receiver.messages[1]!.id).toBe(receiver.messages[0]!.id);
    await expect.poll(async () => (await deliveries())[0]).toMatchObject({ state: 'DELIVERED', attempts: 2 });
    const missing = `/${made.webhookId}/deliveries/00000000-0000-4000-8000-000000000000/resend`;
    expect(await call(url, missing, { method: 'POST' })).toMatchObject({
      status: 404,
      answer: { code: 'DELIVERY_NOT_FOUND' },
    });
  });

  test('shows payload, headers without signatures, and each attempt with the beginning of its response', async () => {
    const { context, sender } = engine({ webhookMaxAttempts: 2 });
    const receiver = await receive();
    receiver.answer = (response) => response.writeHead(500).end(`no \0 such${' table'.repeat(50_000)}`);
    const { webhook: made } = await addWebhook(context, receiver.url);
    await newJob(context);
    await sender.runOnce();
    await makeDue();
    receiver.answer = (response) => response.socket?.destroy();
    await sender.runOnce();
    const { url } = await startTestApi(database.url, { settings: ALLOW });
    const [{ deliveryId }] = ((await call(url, `/${made.webhookId}/deliveries`)).answer as { items: Sent[] })
      .items as unknown as [{ deliveryId: string }];
    const path = `/${made.webhookId}/deliveries/${deliveryId}`;
    const shown = deliveryDetail.strict().parse((await call(url, path)).answer);
    expect(shown).toMatchObject({ state: 'DEAD', attempts: 2, url: receiver.url });
    expect(shown.payload).toBe(receiver.messages[0]!.text);
    expect(shown.log.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 500],
      [2, null],
    ]);
    const [first, second] = shown.log;
    expect(first!.response).toMatch(/^no \ufffd such table/);
    expect(first!.response!.length).toBeLessThanOrEqual(1000);
    expect(second).toMatchObject({ response: null, error: expect.any(String) });
    expect(first!.headers).toMatchObject({
      'webhook-id': receiver.messages[0]!.id,
      'webhook-timestamp': String(receiver.messages[0]!.timestamp),
      'webhook-signature': 'v1,…',
    });
    // Sent again, it has two attempts once more.
    await resendDelivery(context, made.webhookId, deliveryId, null);
    await sender.runOnce();
    expect(await deliveries()).toMatchObject([{ state: 'PENDING', attempts: 3 }]);
    const missing = `/${made.webhookId}/deliveries/00000000-0000-4000-8000-000000000000`;
    expect(await call(url, missing)).toMatchObject({ status: 404, answer: { code: 'DELIVERY_NOT_FOUND' } });
  });
});
