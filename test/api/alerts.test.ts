// Alerts: events of jobs as mail, through a real SMTP server, and as messages of a chat. A stuck job is reported once
// per stretch.
import { afterEach, describe, expect, test } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { reportStuckJobs } from '../../src/engine/services/stuck-watch.ts';
import { WebhookSender } from '../../src/engine/services/webhook-sender.ts';
import { createWebhook } from '../../src/engine/webhooks/create-webhook.ts';
import { resendDelivery } from '../../src/engine/webhooks/resend-delivery.ts';
import { testWebhook } from '../../src/engine/webhooks/test-webhook.ts';
import { newId } from '../../src/platform/random.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { startSmtpReceiver } from '../support/smtp-receiver.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const database = useTestDatabase();
const SMTP = { smtpHost: '127.0.0.1', smtpFrom: 'Rowmill <rowmill@mill.example>', smtpTls: 'none' };
const KINDS = ['job.finished', 'job.failed', 'job.paused', 'job.stuck'];

afterEach(() => database.query('delete from webhooks'));

function engine(settings: Partial<Settings>): { context: EngineContext; sender: WebhookSender } {
  const context = database.context({ webhookAllow: '127.0.0.0/8', secretKey: 'none', ...settings });
  return { context, sender: new WebhookSender(context) };
}

const alertTo = (context: EngineContext, url: string, format?: 'slack') =>
  createWebhook(context, { ownerId: 'local', url, kinds: KINDS, description: '', format });

async function pausedJob(context: EngineContext, name = 'customers.csv'): Promise<string> {
  const { jobId } = await createJob(context, { pipeline: 'test', phases: ['only'], name });
  await pauseJob(context, jobId);
  return jobId;
}

const deliveries = () =>
  database.query<{ delivery_id: string; webhook_id: string }>(
    `select delivery_id, webhook_id, state, attempts, last_status, last_error from deliveries order by created_at`,
  );

const makeDue = () => database.query('update deliveries set next_attempt_at = now() where token is null');

const headerOf = (mail: string, name: string) => new RegExp(`^${name}: (.*)\\r?$`, 'im').exec(mail)?.[1];

describe('mail', () => {
  test('has subject, text, link and sender, is sent with the password, and never shows it', async () => {
    const smtp = await startSmtpReceiver();
    const password = 'canary of the mail server';
    const auth = { smtpPort: smtp.port, smtpUser: 'mill', smtpPassword: password };
    const settings = { ...SMTP, ...auth, apiPublicUrl: 'https://mill.example/' };
    const { context, sender } = engine(settings);
    const { webhook, secret } = await alertTo(context, 'mailto:ada@example.org');
    expect([webhook.format, secret]).toEqual(['mail', null]);
    const jobId = await pausedJob(context);
    await sender.runOnce();
    expect(smtp.mails).toHaveLength(1);
    const [mail] = smtp.mails as [string];
    expect(headerOf(mail, 'Subject')).toBe('customers.csv is paused');
    expect(headerOf(mail, 'From')).toBe('Rowmill <rowmill@mill.example>');
    expect(headerOf(mail, 'To')).toBe('ada@example.org');
    expect(mail).toContain(`https://mill.example/jobs/${jobId}`);
    expect(smtp.signedIn).toEqual([`mill:${password}`]);
    const [row] = await deliveries();
    expect(row).toMatchObject({ state: 'DELIVERED', attempts: 1, last_status: 250 });
    const { url } = await startTestApi(database.url, { settings: { ...SMTP, ...auth } });
    const shown = await fetch(`${url}/api/webhooks/${webhook.webhookId}/deliveries/${row!.delivery_id}`);
    const text = await shown.text();
    expect(text).toContain('customers.csv is paused');
    const others = await Promise.all(
      ['configuration', 'webhooks', 'audit'].map(async (path) => (await fetch(`${url}/api/${path}`)).text()),
    );
    for (const each of [text, ...others]) expect(each).not.toContain(password);
  });

  test('waits for a server that is down, and goes out with the same Message-ID when it is back', async () => {
    const down = await startSmtpReceiver();
    down.refuse = { code: 451, message: 'try again later' };
    const { context, sender } = engine({ ...SMTP, smtpPort: down.port });
    await alertTo(context, 'mailto:ada@example.org');
    await pausedJob(context);
    await sender.runOnce();
    expect(await deliveries()).toMatchObject([
      { state: 'PENDING', attempts: 1, last_status: 451, last_error: expect.stringContaining('try again') },
    ]);
    const { sender: dead } = engine({ ...SMTP, smtpPort: 1 });
    await makeDue();
    await dead.runOnce();
    expect(await deliveries()).toMatchObject([
      { state: 'PENDING', attempts: 2, last_error: expect.stringContaining('ECONNREFUSED') },
    ]);
    down.refuse = null;
    await makeDue();
    await sender.runOnce();
    const [row] = await deliveries();
    expect(row).toMatchObject({ state: 'DELIVERED', attempts: 3 });
    await resendDelivery(context, row!.webhook_id, row!.delivery_id, null);
    await sender.runOnce();
    expect(down.mails).toHaveLength(2);
    const ids = down.mails.map((mail) => headerOf(mail, 'Message-ID'));
    expect(ids).toEqual(Array(2).fill(`<msg_${row!.delivery_id.replaceAll('-', '')}@rowmill>`));
  });

  test('to a recipient that the server refuses for good fails at once, with the reply', async () => {
    const smtp = await startSmtpReceiver();
    smtp.refuse = { code: 550, message: 'no such mailbox' };
    const { context, sender } = engine({ ...SMTP, smtpPort: smtp.port });
    const { webhook } = await alertTo(context, 'mailto:nobody@example.org');
    await pausedJob(context);
    await sender.runOnce();
    expect(await deliveries()).toMatchObject([
      {
        state: 'DEAD',
        attempts: 1,
        last_status: 550,
        last_error: expect.stringContaining('no such mailbox'),
      },
    ]);
    expect(await testWebhook(context, webhook.webhookId, null)).toMatchObject({ state: 'DEAD' });
    smtp.refuse = null;
    expect(await testWebhook(context, webhook.webhookId, null)).toMatchObject({ state: 'DELIVERED' });
    expect(headerOf(smtp.mails[0]!, 'Subject')).toBe('Test message from Rowmill');
  });

  test('is not sent in the clear unless the settings say so', async () => {
    const smtp = await startSmtpReceiver();
    const { context, sender } = engine({ ...SMTP, smtpPort: smtp.port, smtpTls: 'starttls' });
    await alertTo(context, 'mailto:ada@example.org');
    await pausedJob(context);
    await sender.runOnce();
    expect(smtp.mails).toEqual([]);
    expect(await deliveries()).toMatchObject([{ state: 'PENDING', last_error: expect.any(String) }]);
  });

  test.each([
    'mailto:ada@example.org,eve@example.org',
    'mailto:ada@example.org?bcc=eve@example.org',
    'mailto:ada',
    'mailto:ada@example.org\r\nBcc: eve@example.org',
  ])('to %j is refused', async (url) => {
    const { context } = engine({ ...SMTP });
    await expect(alertTo(context, url)).rejects.toMatchObject({ code: 'WEBHOOK_URL_REFUSED' });
  });

  test('needs a server in the settings, and complete settings', async () => {
    const { context } = engine({});
    await expect(alertTo(context, 'mailto:ada@example.org')).rejects.toMatchObject({
      code: 'WEBHOOK_URL_REFUSED',
      message: expect.stringContaining('smtpHost'),
    });
    for (const wrong of [{ smtpFrom: 'none' }, { smtpTls: 'maybe' }, { smtpUser: 'mill' }])
      expect(() => engine({ ...SMTP, ...wrong })).toThrow(/smtp/);
  });
});

test('a chat gets one text with the link, without a signature', async () => {
  const receiver = await startWebhookReceiver();
  const { context, sender } = engine({});
  const { secret } = await alertTo(context, receiver.url, 'slack');
  expect(secret).toBeNull();
  const jobId = await pausedJob(context, '<b>');
  await sender.runOnce();
  expect(receiver.messages.map(({ body }) => body)).toEqual([
    { text: `&lt;b&gt; is paused\nhttp://localhost:4180/jobs/${jobId}` },
  ]);
  expect(receiver.messages[0]!.signatures).toEqual([]);
  await receiver.close();
});

describe('a stuck job', () => {
  const STUCK = { jobStuckMs: 60_000 };
  const HOUR_AGO = `now() - interval '1 hour'`;
  const stuckEvents = (jobId: string) =>
    database.query<{ detail: { quietMs: number; rows: number } }>(
      `select detail from job_events where job_id = $1 and kind = 'job.stuck' order by event_id`,
      [jobId],
    );

  /** A running job whose last progress was an hour ago, with three rows to run and a worker. */
  async function quietJob(context: EngineContext, { worker = true } = {}): Promise<string> {
    const pipeline = `stuck-${newId()}`;
    const { jobId } = await createJob(context, { pipeline, phases: ['only'] });
    await database.query(
      `update jobs set state = 'RUNNING', created_at = ${HOUR_AGO}, started_at = ${HOUR_AGO} where job_id = $1`,
      [jobId],
    );
    await database.query(`update job_events set at = ${HOUR_AGO} where job_id = $1`, [jobId]);
    await database.query(
      `insert into spans (job_id, generation, phase, items, item_count) values ($1, 1, 0, '{[0,3)}', 3)`,
      [jobId],
    );
    if (worker)
      await database.query(
        `insert into workers (worker_id, name, version, pipelines, started_at)
         values (gen_random_uuid(), 'mill', '1', array[$1], ${HOUR_AGO})`,
        [pipeline],
      );
    return jobId;
  }

  test('is reported once per stretch, by one of several servers', async () => {
    const { context } = engine(STUCK);
    const jobId = await quietJob(context);
    const servers = [engine(STUCK), engine(STUCK), engine(STUCK)];
    await Promise.all(servers.map((each) => reportStuckJobs(each.context)));
    await reportStuckJobs(context);
    const events = await stuckEvents(jobId);
    expect(events).toHaveLength(1);
    expect(events[0]!.detail.rows).toBe(3);
    expect(events[0]!.detail.quietMs).toBeGreaterThan(3_599_000);
    // A row finishes, and then nothing moves again.
    await database.query(
      `insert into ledger (job_id, entry_id, generation, phase, at, done)
       values ($1, gen_random_uuid(), 1, 0, now() - interval '10 minutes', 1)`,
      [jobId],
    );
    await reportStuckJobs(context);
    await reportStuckJobs(context);
    expect(await stuckEvents(jobId)).toHaveLength(2);
  });

  test('is one with rows to run, a worker and no recent progress: nothing else is reported', async () => {
    const { context } = engine(STUCK);
    const change = async (text: string): Promise<string> => {
      const jobId = await quietJob(context);
      await database.query(text, [jobId]);
      return jobId;
    };
    const calm = [
      await quietJob(context, { worker: false }),
      await change(`update spans set ready_at = now() + interval '1 hour' where job_id = $1`),
      await change(`delete from spans where job_id = $1`),
      await change(
        `insert into ledger (job_id, entry_id, generation, phase, advanced) values ($1, gen_random_uuid(), 1, 0, 1)`,
      ),
      await change(`update workers set started_at = now()
        where pipelines = array[(select pipeline from jobs where job_id = $1)]`),
      await change(`update jobs set state = 'PAUSED' where job_id = $1`),
    ];
    await resumeJob(context, calm.at(-1)!);
    const stuck = await quietJob(context);
    await reportStuckJobs(context);
    for (const jobId of calm) expect(await stuckEvents(jobId)).toEqual([]);
    expect(await stuckEvents(stuck)).toHaveLength(1);
  });
});
