// The page, the API and the database show the same numbers while a job runs, and the page misses nothing that happens
// before its event stream is open.
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { formatRate } from '../../web/lib/format.ts';
import { apiReader } from '../support/api-reader.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { makeTurnstile, type Turnstile } from '../support/turnstile.ts';

const ROWS = 40;
const AT_ONCE = 4;
/** Long enough for a busy machine. */
const WAIT = { timeout: 30_000 };
const database = useTestDatabase();
const browser = useBrowser();
let turnstile: Turnstile;
let api: RunningApi;
let rowmill: Rowmill;
let worker: RowmillWorker | undefined;

const pipeline = definePipeline({
  name: 'counted',
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
});
afterEach(async () => {
  turnstile.admit(ROWS);
  await worker?.stop();
  worker = undefined;
  await rowmill.close();
});

const rows = (count: number) => Array.from({ length: count }, (_, at) => ({ title: `product ${at}` }));
const progressOf = (page: Page) => page.getByRole('region', { name: 'Progress' });

interface Numbers {
  done: number;
  running: number;
  unfinished: number;
}

async function onPage(page: Page): Promise<Numbers> {
  const text = (await progressOf(page).locator('li').allTextContents()).join('\n').replaceAll(',', '');
  const parts = [...text.matchAll(/(\d+) (running|queued on a worker|waiting for a \w+)/g)];
  const of = (word: string): number => Number(parts.find(([, , each]) => each === word)?.[1] ?? 0);
  return {
    done: Number(/Done (\d+)/.exec(text)?.[1] ?? 0),
    running: of('running'),
    unfinished: parts.reduce((sum, [, count]) => sum + Number(count), 0),
  };
}

async function inApi(jobId: string): Promise<Numbers> {
  const { counts, unfinished } = await apiReader(api.url).read('getJob', { jobId });
  const { reportedAt: _, ...parts } = unfinished;
  return {
    done: counts.DONE,
    running: parts.running,
    unfinished: Object.values(parts).reduce((sum, count) => sum + count, 0),
  };
}

async function inDatabase(jobId: string): Promise<Numbers> {
  const [row] = await database.query<{ done: number; unfinished: number }>(
    `select (select coalesce(sum(done), 0)::int from ledger where job_id = $1) as done,
       (select coalesce(sum(item_count), 0)::int from spans where job_id = $1) as unfinished`,
    [jobId],
  );
  const running = Math.min(AT_ONCE, row!.unfinished);
  return { ...row!, running };
}

test('page, API and database have the same numbers at every stop of a run', async () => {
  worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(pipeline, rows(ROWS), { name: 'Counted' });
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}`);
  await page.getByRole('heading', { name: 'Counted' }).waitFor();
  let done = 0;
  for (const step of [0, 3, 10, 20]) {
    turnstile.admit(step);
    done += step;
    const expected = { done, running: AT_ONCE, unfinished: ROWS - done };
    await expect.poll(() => inDatabase(jobId), WAIT).toEqual(expected);
    await expect.poll(() => inApi(jobId), WAIT).toEqual(expected);
    await expect.poll(() => onPage(page), WAIT).toEqual(expected);
  }
  // The window of a young run grows by the second, so page and API are read together.
  const sameRate = async (): Promise<boolean> => {
    const [shown, { perSecond, rateWindowMs }] = await Promise.all([
      progressOf(page).textContent(),
      apiReader(api.url).read('getJob', { jobId }),
    ]);
    return shown!.includes(`${formatRate(perSecond)}rows over the last ${rateWindowMs / 1000} s`);
  };
  await expect.poll(sameRate, WAIT).toBe(true);
  expectNoComplaints(complaints);
});

test('a change between the first fetch and the open stream reaches the page', async () => {
  const jobId = await rowmill.submit(pipeline, rows(2), { name: 'Early' });
  const { page } = await browser.open();
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  await page.route(/\/api\/v1\/events/, async (route) => {
    await opened;
    await route.continue();
  });
  await page.goto(`${api.url}/jobs/${jobId}`);
  const header = page.locator('header', { has: page.getByRole('heading', { name: 'Early' }) });
  await header.getByText('Queued', { exact: true }).waitFor();
  await rowmill.cancel(jobId);
  await expect.poll(async () => (await rowmill.job(jobId)).state, WAIT).toBe('CANCELLED');
  open();
  await header.getByText('Cancelled', { exact: true }).waitFor();
});

test('rows that were read before the end of their job are read again', async () => {
  const jobId = await rowmill.submit(pipeline, rows(2), { name: 'Late' });
  const { page } = await browser.open();
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(
    ({ pathname }) => pathname === `/api/v1/jobs/${jobId}`,
    async (route) => {
      await released;
      await route.continue();
    },
  );
  const rowsRead = page.waitForResponse(
    (response) => new URL(response.url()).pathname === `/api/v1/jobs/${jobId}/items`,
  );
  await page.goto(`${api.url}/jobs/${jobId}`);
  await (await rowsRead).finished();
  await rowmill.cancel(jobId);
  await expect.poll(async () => (await rowmill.job(jobId)).state, WAIT).toBe('CANCELLED');
  release();
  const table = page.getByRole('table', { name: 'Job rows' });
  await expect.poll(() => table.getByText('Cancelled', { exact: true }).count(), WAIT).toBe(2);
});
