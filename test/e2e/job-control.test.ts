// A running job in a real browser: it is paused, resumed and cancelled from its screen, and the screen follows without
// a reload, even if its connection to the server is cut meanwhile.
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { makeTurnstile, type Turnstile } from '../support/turnstile.ts';
import { whenFinished } from '../support/when-finished.ts';

const ROWS = 40;
const AT_ONCE = 4;
const database = useTestDatabase();
const browser = useBrowser();
let turnstile: Turnstile;
let api: RunningApi;
let rowmill: Rowmill;
let worker: RowmillWorker;
let jobId: string;

const pipeline = definePipeline({
  name: 'slow',
  phases: [
    {
      name: 'ask',
      concurrency: AT_ONCE,
      run: async ({ title }, { signal }) => {
        await turnstile.pass(signal);
        return { length: String(title).length };
      },
    },
  ],
});

beforeEach(async () => {
  turnstile = makeTurnstile();
  api = await startTestApi(database.url, { pipelines: [pipeline] });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([pipeline]);
  const rows = Array.from({ length: ROWS }, (_, at) => ({ title: `product ${at}` }));
  jobId = await rowmill.submit(pipeline, rows, { name: 'Catalogue' });
});
afterEach(async () => {
  turnstile.admit(ROWS);
  await worker.stop();
  await rowmill.close();
});

/** The page keeps this value until it is reloaded. */
const MARK = 'globalThis.isSamePage = true';
const isSamePage = (page: Page): Promise<unknown> => page.evaluate('globalThis.isSamePage === true');

async function openJob(url: string) {
  const opened = await browser.open();
  await opened.page.goto(`${url}/jobs/${jobId}`);
  await opened.page.getByRole('heading', { name: 'Catalogue' }).waitFor();
  await opened.page.evaluate(MARK);
  return opened;
}

const stateOf = (page: Page) => page.locator('header', { has: page.getByRole('heading') });
const progressOf = (page: Page) => page.getByRole('region', { name: 'Progress' });
const liveSign = (page: Page) =>
  page.getByRole('navigation', { name: 'Main navigation' }).getByRole('status');

async function countResults(): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    'select count(*)::int as count from results where job_id = $1',
    [jobId],
  );
  return row!.count;
}

async function countLeased(): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    'select coalesce(sum(item_count), 0)::int as count from spans where job_id = $1 and worker_id is not null',
    [jobId],
  );
  return row!.count;
}

test('a running job is paused, makes no further progress, and finishes after the resume', async () => {
  const { page, complaints } = await openJob(api.url);
  await stateOf(page).getByText('Running', { exact: true }).waitFor();
  turnstile.admit(10);
  await progressOf(page).getByText('Done 10', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await stateOf(page).getByText('Paused', { exact: true }).waitFor();
  await page.locator('[data-messages]').getByText('Paused', { exact: true }).first().waitFor();
  expect(await page.getByRole('button', { name: 'Pause', exact: true }).count()).toBe(0);
  // The worker returns queued rows; running rows may finish, and no other may start.
  await expect.poll(countLeased).toBeLessThanOrEqual(AT_ONCE);
  turnstile.admit(ROWS);
  await expect.poll(countLeased).toBe(0);
  const done = await countResults();
  expect(done).toBeLessThanOrEqual(10 + AT_ONCE);
  await progressOf(page).getByText(`Done ${done}`, { exact: true }).waitFor();
  await progressOf(page)
    .getByText(`${ROWS - done} on hold`, { exact: true })
    .waitFor();

  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await stateOf(page).getByText('Done', { exact: true }).waitFor();
  await progressOf(page).getByText(`Done ${ROWS}`, { exact: true }).waitFor();
  await progressOf(page)
    .getByText(/^100\s?%$/)
    .first()
    .waitFor();
  expect(await page.getByRole('button', { name: /^(Pause|Resume|Cancel)$/ }).count()).toBe(0);
  expect(await isSamePage(page)).toBe(true);
  expectNoComplaints(complaints);
});

test('a running job is cancelled after a confirmation, and its rows are shown as cancelled', async () => {
  const { page, complaints } = await openJob(api.url);
  turnstile.admit(5);
  await progressOf(page).getByText('Done 5', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('heading', { name: 'Cancel this job?' }).waitFor();
  await page.getByRole('button', { name: 'Keep running' }).click();
  await page.getByRole('heading', { name: 'Cancel this job?' }).waitFor({ state: 'detached' });
  await stateOf(page).getByText('Running', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel job' }).click();
  await stateOf(page).getByText('Cancelled', { exact: true }).waitFor();
  await progressOf(page)
    .getByText(`Cancelled ${ROWS - 5}`, { exact: true })
    .waitFor();
  await progressOf(page).getByText('Done 5', { exact: true }).waitFor();
  const grid = page.getByRole('table', { name: 'Job rows' });
  await expect.poll(() => grid.getByText('Cancelled', { exact: true }).count()).toBeGreaterThan(5);
  await expect.poll(() => grid.getByText('Pending', { exact: true }).count()).toBe(0);
  expect(await isSamePage(page)).toBe(true);
  expectNoComplaints(complaints);
});

const DROPS: Record<
  string,
  () => Promise<{ url: string; drop: () => Promise<void>; heal: () => Promise<void> }>
> = {
  'a cut connection': async () => {
    const proxy = await startCuttableProxy(api.url);
    return {
      url: proxy.url,
      drop: async () => expect(proxy.cut()).toBeGreaterThan(0),
      heal: async () => proxy.heal(),
    };
  },
  'a server restart': async () => ({
    url: api.url,
    drop: () => api.stop(),
    heal: async () => {
      const apiPort = Number(new URL(api.url).port);
      api = await startTestApi(database.url, { pipelines: [pipeline], settings: { apiPort } });
    },
  }),
};

for (const [what, prepare] of Object.entries(DROPS))
  test(`after ${what} the page reconnects and shows the result of the job`, async () => {
    const { url, drop, heal } = await prepare();
    const { page, complaints } = await openJob(url);
    turnstile.admit(3);
    await progressOf(page).getByText('Done 3', { exact: true }).waitFor();
    await liveSign(page).getByText('Live', { exact: true }).waitFor();

    await drop();
    await liveSign(page).getByText('Reconnecting…', { exact: true }).waitFor();
    // The last known values stay on the screen while no update arrives.
    await progressOf(page).getByText('Done 3', { exact: true }).waitFor();
    turnstile.admit(ROWS);
    await whenFinished(rowmill, jobId);
    expect(await progressOf(page).getByText(`Done ${ROWS}`, { exact: true }).count()).toBe(0);

    // Requests that failed meanwhile are repeated without user action.
    await page.getByText(/^Couldn't load rows/).waitFor();
    await heal();
    await liveSign(page).getByText('Live', { exact: true }).waitFor();
    await stateOf(page).getByText('Done', { exact: true }).waitFor();
    await progressOf(page).getByText(`Done ${ROWS}`, { exact: true }).waitFor();
    const grid = page.getByRole('table', { name: 'Job rows' });
    await expect.poll(() => grid.getByText('Done', { exact: true }).count()).toBeGreaterThan(10);
    await expect.poll(() => grid.getByText('Pending', { exact: true }).count()).toBe(0);
    expect(await isSamePage(page)).toBe(true);
    expectNoComplaints(complaints);
  });
