// A page that is open while its session expires, while the server is unavailable, and while the server returns with
// another version: it shows this, asks for what it needs, and keeps everything the user typed.
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline, fail, openRowmill, type Rowmill } from '../../src/index.ts';
import { addUser, PASSWORD, sessionHeaders } from '../support/account-factory.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
const pipeline = definePipeline({
  name: 'prices',
  phases: [{ name: 'lookup', run: ({ sku }) => (sku === 'right' ? { price: 1 } : fail('no such sku')) }],
});
let api: RunningApi;
let rowmill: Rowmill;
let userId: string;
let jobId: string;
let round = 0;

beforeEach(async () => {
  api = await startTestApi(database.url, {
    pipelines: [pipeline],
    settings: { authentication: 'password', streamHeartbeatMs: 500 },
  });
  rowmill = await openRowmill({ databaseUrl: database.url });
  round += 1;
  userId = `ada${round}`;
  await addUser(database, userId);
  const worker = await rowmill.startWorker([pipeline]);
  jobId = await rowmill.submit(pipeline, [{ sku: 'wrong' }], { name: 'Harbour', ownerId: userId });
  await rowmill.whenFinished(jobId);
  await worker.stop();
});
afterEach(() => rowmill.close());

async function openPage(url: string, path: string) {
  const opened = await browser.open();
  const { cookie } = await sessionHeaders(database, userId);
  const [name, value] = cookie!.split('=', 2) as [string, string];
  await opened.page.context().addCookies([{ name, value, url }]);
  await opened.page.goto(`${url}${path}`);
  return opened;
}

const endSessions = () => database.query('delete from sessions where user_id = $1', [userId]);
const live = (page: Page, words: string) => page.getByRole('status').filter({ hasText: words }).waitFor();

test('after an expired session the password is asked for over the open page, and typed text is kept', async () => {
  const { page, complaints } = await openPage(api.url, `/jobs/${jobId}?row=0`);
  await page.getByRole('button', { name: 'Edit & rerun' }).click();
  await page.getByRole('textbox', { name: 'sku' }).fill('right');
  await endSessions();
  await page.getByRole('button', { name: 'Save and rerun' }).click();
  const question = page.getByRole('dialog', { name: 'Sign in again' });
  await question.getByLabel('Password').fill('not the password');
  await question.getByRole('button', { name: 'Sign in' }).click();
  await question.getByText('the name or the password is wrong').waitFor();
  expect(await question.getByLabel('Username').inputValue()).toBe(userId);
  await question.getByLabel('Password').fill(PASSWORD);
  await question.getByRole('button', { name: 'Sign in' }).click();
  await question.waitFor({ state: 'detached' });
  expect(await page.getByRole('textbox', { name: 'sku' }).inputValue()).toBe('right');
  await page.getByRole('button', { name: 'Save and rerun' }).click();
  await expect.poll(async () => (await rowmill.job(jobId)).generation).toBe(2);
  expectNoComplaints(complaints);
});

test('a page whose stream is refused after its session expired is live again after signing in', async () => {
  const proxy = await startCuttableProxy(api.url);
  const { page, complaints } = await openPage(proxy.url, '/jobs');
  await live(page, 'Live');
  await endSessions();
  proxy.cut();
  await live(page, 'Reconnecting');
  proxy.heal();
  const question = page.getByRole('dialog', { name: 'Sign in again' });
  await question.getByLabel('Password').fill(PASSWORD);
  await question.getByRole('button', { name: 'Sign in' }).click();
  await question.waitFor({ state: 'detached' });
  await live(page, 'Live');
  expectNoComplaints(complaints);
});

test('a dead connection dims the numbers with their age until it is back', async () => {
  const proxy = await startCuttableProxy(api.url);
  const { page, complaints } = await openPage(proxy.url, '/jobs');
  await live(page, 'Live');
  await page.getByRole('link', { name: 'Harbour' }).waitFor();
  // Nothing is closed: only the missing heartbeats show that the server is gone.
  proxy.hush();
  await page.getByText(/^As of \d+ s ago/).waitFor();
  await live(page, 'Reconnecting');
  const opacity = () =>
    page.evaluate<number>(`
      let least = 1;
      for (let each = document.querySelector('main table'); each; each = each.parentElement)
        least = Math.min(least, Number(getComputedStyle(each).opacity));
      least;`);
  expect(await opacity()).toBeLessThan(1);
  proxy.heal();
  await live(page, 'Live');
  await page.getByText(/^As of/).waitFor({ state: 'detached' });
  expect(await opacity()).toBe(1);
  expectNoComplaints(complaints);
});

test('a user without a session gets the sign-in page, and signs in once', async () => {
  const { page, complaints } = await openPage(api.url, '/jobs');
  await page.getByRole('link', { name: 'Harbour' }).waitFor();
  await endSessions();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('Username').fill(userId);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Harbour' }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  expectNoComplaints(complaints);
});

test('a part opened while the server is unavailable removes nothing from the screen, and opens when it is back', async () => {
  const proxy = await startCuttableProxy(api.url);
  const { page, complaints } = await openPage(proxy.url, `/jobs/${jobId}?search=wrong`);
  await live(page, 'Live');
  await page.getByText('no such sku').first().waitFor();
  // A network that drops all packets closes no connection: the page notices only the silence.
  proxy.hush();
  await live(page, 'Reconnecting');
  await live(page, 'Numbers on this page are out of date');
  proxy.heal();
  await live(page, 'Live');
  await expect.poll(() => page.getByText('Numbers on this page').count()).toBe(0);
  proxy.cut();
  await live(page, 'Reconnecting');
  await page.getByRole('button', { name: 'Retry unsuccessful…' }).click();
  await page.locator('[data-messages]').getByText("Can't reach the server. Reconnecting…").first().waitFor();
  expect(await page.getByRole('heading', { name: 'Harbour' }).count()).toBe(1);
  expect(await page.getByText('no such sku').count()).toBeGreaterThan(0);
  // Browsers that cache a failed import reload the page at the same address; others open the dialog immediately.
  page.once('load', () => {
    page
      .getByRole('button', { name: 'Retry unsuccessful…' })
      .click()
      .catch((error: Error) => complaints.push(error.message));
  });
  proxy.heal();
  await page.getByRole('dialog', { name: 'Retry unsuccessful rows?' }).waitFor();
  expect(new URL(page.url()).search).toBe('?search=wrong');
  expectNoComplaints(complaints);
});

test('a page of an earlier version reloads if one of its parts is gone', async () => {
  const { page } = await openPage(api.url, '/jobs');
  await page.getByRole('link', { name: 'Harbour' }).waitFor();
  await page.evaluate('globalThis.isSamePage = true');
  let isGone = true;
  await page.route(/\/assets\/workers-screen-.*\.js$/, (route) =>
    isGone ? route.fulfill({ status: 404, body: '{}' }) : route.continue(),
  );
  // The reloaded page has the parts of the new version.
  page.on('request', (request) => {
    if (request.isNavigationRequest()) isGone = false;
  });
  await page.getByRole('link', { name: 'Workers' }).click();
  await page.getByRole('heading', { name: 'Workers', exact: true }).waitFor();
  expect(isGone).toBe(false);
  expect(await page.evaluate('globalThis.isSamePage === true')).toBe(false);
});
