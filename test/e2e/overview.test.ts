// Overview, pipelines and cost in a real browser: the numbers are those of the jobs, every number leads to its list, and
// a running job moves while the page is open.
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { expectAccessible } from '../support/accessible.ts';
import { apiReader } from '../support/api-reader.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { makeTurnstile, type Turnstile } from '../support/turnstile.ts';

const ROWS = 12;
const database = useTestDatabase();
const browser = useBrowser();
let turnstile: Turnstile;
let api: RunningApi;
let rowmill: Rowmill;
let worker: RowmillWorker;

const slow = definePipeline({
  name: 'slow-prices',
  costUnit: 'EUR',
  input: z.object({ sku: z.string().describe('Article number') }),
  key: 'sku',
  resources: { shop: { concurrency: 4 } },
  phases: [
    {
      name: 'ask',
      cost: 0.25,
      concurrency: 4,
      timeoutMs: 30_000,
      resources: ['shop'],
      run: async ({ sku }, { signal }) => {
        await turnstile.pass(signal);
        return { price: sku.length };
      },
    },
  ],
});
const failing = definePipeline({
  name: 'failing-prices',
  costUnit: 'EUR',
  phases: [
    {
      name: 'ask',
      cost: 0.5,
      run: ({ n }) => {
        if (Number(n) < 2) throw new Error('no price');
        return { n };
      },
      retry: { permanent: { maxAttempts: 1 } },
    },
  ],
});

beforeEach(async () => {
  turnstile = makeTurnstile();
  await database.query('truncate jobs, ledger, spans, workers cascade');
  api = await startTestApi(database.url, { pipelines: [slow, failing] });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([slow, failing]);
});
afterEach(async () => {
  turnstile.admit(ROWS);
  await worker.stop();
  await rowmill.close();
});

test('overview, pipelines and cost show the numbers of the jobs and lead to them', async () => {
  const finished = await rowmill.submit(
    failing,
    Array.from({ length: 8 }, (_, n) => ({ n })),
    { name: 'Ended with failures' },
  );
  await rowmill.whenFinished(finished);
  const skus = Array.from({ length: ROWS }, (_, n) => ({ sku: `sku-${n}` }));
  const running = await rowmill.submit(slow, skus, { name: 'Still running' });
  const { page, complaints } = await browser.open();
  await page.goto(api.url);
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  const today = page.getByRole('region', { name: 'Today' });
  const number = (name: string) => today.locator('div', { has: page.getByText(name, { exact: true }) });

  for (const step of [0, 3, 5]) {
    turnstile.admit(step);
    const done = step === 0 ? 0 : step === 3 ? 3 : 8;
    await expect
      .poll(async () => (await apiReader(api.url).read('getJob', { jobId: running })).counts.DONE)
      .toBe(done);
    const [job, other] = await Promise.all(
      [running, finished].map((jobId) => apiReader(api.url).read('getJob', { jobId })),
    );
    const cost = (job!.cost + other!.cost).toFixed(2);
    await page.getByRole('img', { name: done === 0 ? /0 % finished/ : `${done} done` }).waitFor();
    await expect.poll(() => number('Rows processed').textContent()).toContain(String(8 + done));
    await expect.poll(() => number('Failed rows').textContent()).toContain(String(other!.counts.ERROR));
    await expect.poll(() => number('Cost').textContent()).toContain(`€${cost}`);
  }
  await expectAccessible(page);

  await page.getByRole('link', { name: '1 job with failed rows in the last 7 days' }).click();
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
  await expect.poll(() => page.getByRole('rowheader').allTextContents()).toHaveLength(1);
  await page.getByRole('link', { name: 'Ended with failures' }).waitFor();
  await page.getByRole('button', { name: 'Remove filter: Jobs with failed rows in the last 7 days' }).click();
  await page.getByRole('link', { name: 'Still running' }).waitFor();

  await page.goto(`${api.url}/cost`);
  const byPipeline = page.getByRole('region', { name: 'Cost by owner and pipeline' });
  await byPipeline.getByRole('row', { name: /failing-prices 8 2 €4.00 €0.50/ }).waitFor();
  await byPipeline.getByRole('row', { name: /slow-prices 8 0 €2.00 €0.25/ }).waitFor();
  await page
    .getByRole('region', { name: 'Forecast for active jobs' })
    .getByRole('row', { name: /Still running 4 €0.25 €2.00 ≈ €1.00/ })
    .waitFor();
  await expectAccessible(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const day = new Date().toISOString().slice(0, 10);
  expect(readFileSync((await download.path())!, 'utf8').split('\r\n')).toEqual([
    'day,ownerId,pipeline,costUnit,jobs,rows,done,failed,cost,lostCost',
    `${day},local,failing-prices,EUR,1,8,6,2,4,0`,
    `${day},local,slow-prices,EUR,1,8,8,0,2,0`,
    '',
  ]);

  await page.getByRole('link', { name: 'Pipelines' }).click();
  await page.getByRole('row', { name: /failing-prices — 1 8 2 75 % €4.00 €0.50/ }).waitFor();
  await page.getByRole('link', { name: 'slow-prices' }).click();
  await page.getByRole('row', { name: 'sku text Yes, key Article number' }).waitFor();
  await page.getByRole('row', { name: 'ask 4 30 s 0 shop' }).waitFor();
  await page.getByText(`rowmill try pipeline.ts '{"sku":"…"}'`).waitFor();
  await page.getByRole('link', { name: 'Still running' }).waitFor();
  await expectAccessible(page);
  expectNoComplaints(complaints);
});

test('the new screens are legible in dark colours and on a phone', async () => {
  const jobId = await rowmill.submit(failing, [{ n: 1 }, { n: 5 }], {
    name: 'A job with a rather long name',
  });
  await rowmill.whenFinished(jobId);
  await rowmill.submit(slow, [{ sku: 'a' }], { name: 'Running on a phone' });
  const { page } = await browser.open({ dark: true, width: 390 });
  for (const [path, heading] of [
    ['/overview', 'Overview'],
    ['/cost', 'Cost'],
    ['/pipelines', 'Pipelines'],
    ['/pipelines/slow-prices', 'slow-prices'],
  ] as const) {
    await page.goto(api.url + path);
    await page.getByRole('heading', { name: heading, exact: true }).waitFor();
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(390);
  }
  await page.getByRole('button', { name: 'Menu' }).click();
  await expectAccessible(page);
});
