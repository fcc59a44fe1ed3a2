// The screens around the jobs in a real browser: keys, people, webhooks, limits, bulk actions on jobs, and the
// keyboard. Each is checked by axe in light and dark colours, and at the width of a phone.
import type { Locator } from 'playwright-core';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { expectAccessible, expectAccessibleInBothColours } from '../support/accessible.ts';
import { addUser, keyHeaders, PASSWORD, sessionHeaders } from '../support/account-factory.ts';
import { expectNoComplaints, type OpenPage, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

const database = useTestDatabase();
const browser = useBrowser();
const pipeline = definePipeline({
  name: 'prices',
  input: z.object({ sku: z.string() }),
  params: z.object({ country: z.string() }),
  phases: [{ name: 'lookup', cost: 1, run: () => ({ price: 1 }) }],
});
let api: RunningApi;
let receiver: WebhookReceiver;

beforeAll(() => addUser(database, 'ada', { role: 'admin' }));
beforeEach(async () => {
  receiver = await startWebhookReceiver();
  api = await startTestApi(database.url, {
    pipelines: [pipeline],
    settings: { authentication: 'password', pendingDashboard: 'on', webhookAllow: '127.0.0.0/8' },
  });
});
afterEach(() => receiver.close());

async function openAs(userId: string, path: string) {
  const { cookie } = await sessionHeaders(database, userId);
  const opened: OpenPage = await browser.open();
  const [name, value] = cookie.split('=') as [string, string];
  await opened.page.context().addCookies([{ name, value, url: api.url }]);
  await opened.page.goto(api.url + path);
  return opened;
}

const SCREENS = [
  ['/overview', 'Overview'],
  ['/pipelines', 'Pipelines'],
  ['/pipelines/prices', 'prices'],
  ['/cost', 'Cost'],
  ['/jobs', 'Jobs'],
  ['/jobs/new', 'New job'],
  ['/pending', 'In progress'],
  ['/workers', 'Workers'],
  ['/resources', 'Resources'],
  ['/webhooks', 'Alerts and webhooks'],
  ['/settings?tab=account', 'Settings'],
  ['/settings?tab=keys', 'Settings'],
  ['/settings?tab=people', 'Settings'],
  ['/settings?tab=owners', 'Settings'],
  ['/settings?tab=sources', 'Settings'],
  ['/settings?tab=audit', 'Settings'],
  ['/settings?tab=server', 'Settings'],
] as const;

test('axe finds no violation on any screen in light and dark colours, and no screen is wider than a phone', async () => {
  const { page, complaints } = await openAs('ada', '/jobs');
  for (const [path, heading] of SCREENS) {
    await page.goto(api.url + path);
    await page.getByRole('heading', { name: heading, exact: true }).waitFor();
    await expectAccessibleInBothColours(page);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(390);
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  expectNoComplaints(complaints);
});

test('a key is created after a password confirmation, shown once, and revoked', async () => {
  const { page, complaints } = await openAs('ada', '/settings?tab=keys');
  await database.query(`update sessions set confirmed_at = now() - interval '1 day'`);
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('nightly import');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('heading', { name: 'Confirm your password' }).waitFor();
  await page.getByLabel('Password', { exact: true }).fill('not the password');
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Confirm' }).click();
  const key = await page.getByLabel('API key', { exact: true }).inputValue();
  const answer = await fetch(`${api.url}/api/session`, { headers: { authorization: `Bearer ${key}` } });
  expect(await answer.json()).toMatchObject({ userId: 'ada', via: 'key', scopes: ['read'] });
  await page.getByRole('button', { name: 'Done' }).click();
  expect(await page.content()).not.toContain(key);
  await page.getByRole('button', { name: 'Revoke nightly import' }).click();
  await page.getByRole('button', { name: 'Revoke key', exact: true }).click();
  await page.getByText('Key revoked').first().waitFor();
  const refused = await fetch(`${api.url}/api/session`, { headers: { authorization: `Bearer ${key}` } });
  expect(refused.status).toBe(401);
  expectNoComplaints(complaints);
});

test('a new user sees neither people nor the jobs of others, and loses keys and webhooks as the checkboxes say', async () => {
  const { page } = await openAs('ada', '/settings?tab=people');
  const grace = newId();
  await page.getByRole('button', { name: 'Add person' }).click();
  await page.getByLabel('Username').fill(grace);
  await page.getByLabel('Role').selectOption('viewer');
  await page.getByLabel('Password', { exact: true }).fill('another quiet harbour');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('rowheader', { name: grace }).waitFor();
  const { page: hers } = await openAs(grace, '/jobs');
  await hers.getByRole('heading', { name: 'No jobs yet' }).waitFor();
  expect(await hers.getByRole('link', { name: 'New job' }).count()).toBe(0);
  expect(await hers.getByLabel("Show everyone's jobs").count()).toBe(0);
  await hers.goto(`${api.url}/settings?tab=people`);
  await hers.getByRole('heading', { name: 'You', exact: true }).waitFor();
  expect(await hers.getByRole('link', { name: 'People and teams' }).count()).toBe(0);

  const change = async (fill: (dialog: Locator) => Promise<void>) => {
    await page.getByRole('button', { name: `Edit ${grace}` }).click();
    const dialog = page.getByRole('dialog', { name: `Edit ${grace}` });
    await fill(dialog);
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
  };
  const key = await keyHeaders(database, grace, ['read']);
  const statusOf = async (headers: Record<string, string>) =>
    (await fetch(`${api.url}/api/session`, { headers })).status;
  await change(async (dialog) => {
    await dialog.getByLabel('Role').selectOption('member');
    await dialog.getByLabel('New password').fill('a third quiet harbour');
  });
  // A new password keeps API keys, unless the checkbox is ticked.
  expect(await statusOf(key)).toBe(200);
  await change(async (dialog) => {
    await dialog.getByLabel('New password').fill('a fourth quiet harbour');
    await dialog.getByLabel('Revoke API keys').check();
  });
  expect(await statusOf(key)).toBe(401);

  const session = await sessionHeaders(database, grace);
  const made = await fetch(`${api.url}/api/webhooks`, {
    method: 'POST',
    headers: { ...session, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url }),
  });
  expect(made.status).toBe(201);
  const newKey = await keyHeaders(database, grace, ['read']);
  await change((dialog) => dialog.getByLabel('Deactivate').check());
  expect([await statusOf(session), await statusOf(newKey)]).toEqual([401, 401]);
  const hooks = await database.query('select state from webhooks where owner_id = $1', [grace]);
  expect(hooks).toEqual([{ state: 'DISABLED' }]);
});

test('a webhook is created, tested, seen to fail, and sent again', async () => {
  const { page, complaints } = await openAs('ada', '/webhooks');
  await page.getByRole('button', { name: 'New alert' }).click();
  await page.getByLabel('Format').selectOption('Mail');
  await page.getByText('This server cannot send mail').waitFor();
  expect(await page.getByLabel('Job stuck').isChecked()).toBe(true);
  await page.getByLabel('Format').selectOption('Webhook');
  await page.getByLabel('URL').fill(receiver.url);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  expect(await page.getByLabel('Secret', { exact: true }).inputValue()).toMatch(/^whsec_/);
  await page.getByRole('button', { name: 'Done' }).click();
  receiver.answer = (response) => response.writeHead(500).end('the disk is full');
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('Test failed').first().waitFor();
  await page.getByRole('button', { name: 'webhook.test', exact: true }).click();
  const panel = page.getByRole('dialog', { name: 'webhook.test' });
  await panel.getByText('the disk is full').waitFor();
  await panel.getByText('"type": "webhook.test"').waitFor();
  await panel.getByText('Headers', { exact: true }).click();
  await panel.getByText(`webhook-id: ${receiver.messages[0]!.id}`).waitFor();
  await expectAccessible(page);
  receiver.answer = (response) => response.writeHead(200).end();
  await panel.getByRole('button', { name: 'Send again' }).click();
  await receiver.whenReceived(2);
  expect(receiver.messages[1]!.id).toBe(receiver.messages[0]!.id);
  await panel.getByText('2 attempts').waitFor();
  await panel.getByText('Attempt 2').waitFor();
  await panel.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete webhook' }).click();
  await page.getByRole('heading', { name: 'No alerts or webhooks yet' }).waitFor();
  expectNoComplaints(complaints);
});

test('a worker shows what it runs and holds, with the technical reason one click away', async () => {
  const workerId = newId();
  const pool = { pipeline: 'prices', phase: 'lookup', idle: 1, busy: 2, error: 0, queued: 0, waiting: 0 };
  await database.query(
    `insert into workers (worker_id, name, version, pipelines, abilities, pools, pressure)
     values ($1, 'harbour pid 7', '1.0', '{prices}', '[{"pipeline": "prices", "version": "3", "phases": ["lookup"]}]', $2, $3)`,
    [
      workerId,
      JSON.stringify([pool]),
      JSON.stringify({ share: 0.4, reason: 'memory is 0.93, above 0.85', memoryBytes: 314_572_800 }),
    ],
  );
  const { page, complaints } = await openAs('ada', '/workers');
  await page.getByRole('link', { name: 'harbour pid 7' }).click();
  await page.getByRole('heading', { name: 'harbour pid 7' }).waitFor();
  await page.getByText('version 3').waitFor();
  await page.getByText('process 7').waitFor();
  await page.getByText('Running slower, at 40 % of its slots: it is short of memory').click();
  await page.getByText('memory is 0.93, above 0.85').waitFor();
  await page.getByRole('img', { name: '2 of 3 slots in use, 0 hung' }).waitFor();
  await expectAccessible(page);
  await page.setViewportSize({ width: 390, height: 800 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  expectNoComplaints(complaints);
  await database.query('delete from workers where worker_id = $1', [workerId]);
});

test('errors in the form of a job are shown, and spending money needs a confirmation', async () => {
  const { page } = await openAs('ada', '/jobs/new?pipeline=prices');
  const name = `${newId()}.csv`;
  const buffer = Buffer.from(`sku\nA-1\n${name}\n`);
  await page.getByLabel('File to upload').setInputFiles({ name, mimeType: 'text/csv', buffer });
  await page.getByText('Checked all 2 rows').waitFor();
  await page.getByRole('button', { name: 'Start job' }).click();
  await page.getByText('Required', { exact: true }).waitFor();
  await page.getByLabel('country').fill('de');
  await page.getByRole('button', { name: 'Start job' }).click();
  await page.getByRole('heading', { name: 'Start without a budget?' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByLabel("Don't start yet").check();
  await page.getByRole('button', { name: 'Upload only' }).click();
  await page.getByRole('heading', { name }).waitFor();
  const [job] = await database.query<{ params: unknown }>('select params from jobs where name = $1', [name]);
  expect(job).toMatchObject({ params: { country: 'de' } });

  await page.goto(`${api.url}/jobs`);
  await page.getByLabel(`Select ${name}`).check();
  await expect.poll(() => page.getByRole('button', { name: 'Resume 1' }).count()).toBe(1);
  await page.getByRole('button', { name: 'Cancel 1' }).click();
  await page.getByRole('button', { name: 'Cancel job' }).click();
  await page.getByText('Cancelling 1 job').first().waitFor();
});

test('screens and jobs are reached by keyboard alone', async () => {
  const { page } = await openAs('ada', '/jobs');
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder(/Search pages and jobs/).waitFor();
  await expectAccessible(page);
  await page.keyboard.type('webh');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Alerts and webhooks', exact: true }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard shortcuts', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Keyboard shortcuts', exact: true }).waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder(/Search pages and jobs/).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'New job', exact: true }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await page.getByRole('heading', { name: 'Workers', exact: true }).waitFor();
});
