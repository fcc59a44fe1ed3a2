// Sharing a job: by a link to the current view, and on paper. Also the order in which Escape closes things.
import type { Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { definePipeline, fail, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
let rowmill: Rowmill;
let worker: RowmillWorker;
afterEach(async () => {
  await worker?.stop();
  await rowmill?.close();
});

const pipeline = definePipeline({
  name: 'prices',
  phases: [{ name: 'lookup', run: ({ sku }) => (sku === 'bad' ? fail('no price') : { price: 1 }) }],
});

async function finishedJob(): Promise<string> {
  const api = await startTestApi(database.url, { pipelines: [pipeline] });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(pipeline, [{ sku: 'good' }, { sku: 'bad' }], { name: 'Catalogue' });
  await rowmill.whenFinished(jobId);
  return `${api.url}/jobs/${jobId}`;
}

const copied = (page: Page): Promise<string> => page.evaluate('navigator.clipboard.readText()');

test('the link to a view leads another user to the same rows', async () => {
  const address = await finishedJob();
  const { page, complaints } = await browser.open();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(address);
  await page.getByRole('link', { name: '1 failed' }).click();
  const grid = page.getByRole('table', { name: 'Job rows' });
  await expect.poll(() => grid.getByRole('rowheader').allInnerTexts()).toEqual(['2']);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Link copied').first().waitFor();
  const fromGrid = await copied(page);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Copy link' }).click();
  await expect.poll(() => copied(page)).toBe(fromGrid);

  const { page: other } = await browser.open();
  await other.goto(fromGrid);
  const theirs = other.getByRole('table', { name: 'Job rows' });
  await expect.poll(() => theirs.getByRole('rowheader').allInnerTexts()).toEqual(['2']);
  expectNoComplaints(complaints);
});

test('a printed job has its numbers and no controls, in light colours', async () => {
  const address = await finishedJob();
  const { page } = await browser.open({ dark: true });
  await page.goto(`${address}?overview=true`);
  await page.getByRole('heading', { name: 'Throughput' }).waitFor();
  const ink = (): Promise<string> => page.evaluate('getComputedStyle(document.body).color');
  const onScreen = await ink();
  await page.emulateMedia({ media: 'print' });
  await expect.poll(() => page.getByRole('navigation').isVisible()).toBe(false);
  expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0);
  expect(await page.getByRole('heading', { name: 'Catalogue' }).isVisible()).toBe(true);
  expect(await page.getByRole('heading', { name: 'Throughput' }).isVisible()).toBe(true);
  expect(await page.getByRole('region', { name: 'Progress' }).isVisible()).toBe(true);
  expect(await ink()).not.toBe(onScreen);
});

test('Escape closes the open row first, then the message', async () => {
  const address = await finishedJob();
  const { page } = await browser.open();
  await page.goto(`${address}?row=1`);
  // Messages stay while the window has no focus: none may disappear during this test.
  await page.evaluate(`setInterval(() => dispatchEvent(new Event('blur')), 50)`);
  const drawer = page.getByRole('dialog', { name: /^Row 2/ });
  await drawer.getByRole('button', { name: 'Edit & rerun' }).click();
  await drawer.getByLabel('sku', { exact: true }).fill('good');
  await drawer.getByRole('button', { name: 'Save and rerun' }).click();
  const message = page.locator('[data-messages] li');
  await message.first().waitFor();
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  expect(await message.count()).toBe(1);
  await page.keyboard.press('Escape');
  await expect.poll(() => message.count()).toBe(0);
});
