// The tasks of operators in a real browser: waiting rows are retried, resources have a history, owners get shares,
// sources are scanned, and a long search shows its progress.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import {
  definePipeline,
  openRowmill,
  type Rowmill,
  type RowmillWorker,
  retryLater,
} from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { expectAccessible } from '../support/accessible.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
/** Long enough for a busy machine. */
const WAIT = { timeout: 45_000 };
let rowmill: Rowmill | undefined;
let worker: RowmillWorker | undefined;
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await rowmill?.close();
  rowmill = undefined;
});

const HOUR_MS = 3_600_000;
let isBusy = true;
const pipeline = definePipeline({
  name: 'prices',
  summary: ['sku'],
  phases: [
    {
      name: 'lookup',
      run: ({ sku }) => (isBusy ? retryLater({ afterMs: HOUR_MS }) : { price: String(sku).length }),
    },
  ],
});

test('rows that wait for a retry are retried immediately, from the job and from the dashboard', async () => {
  isBusy = true;
  const api = await startTestApi(database.url, {
    pipelines: [pipeline],
    settings: { pendingDashboard: 'on' },
  });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([pipeline]);
  const rows = ['a', 'b', 'c', 'd'].map((sku) => ({ sku }));
  const jobId = await rowmill.submit(pipeline, rows, { name: 'Waiting' });
  const counts = async () => {
    const { retrying, counts: ended } = (await rowmill!.progress(jobId))!;
    return [retrying, ended.DONE];
  };
  await expect.poll(counts, WAIT).toEqual([4, 0]);
  isBusy = false;
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}?tab=pending`);
  await page.getByLabel('Select row 3').check();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Retry 1 now' }).click();
  await page.getByText('Retrying 1 row now').first().waitFor();
  await expect.poll(counts, WAIT).toEqual([3, 1]);
  await page.getByLabel('Select row 3').waitFor({ state: 'detached' });

  await page.getByLabel('Updated to').fill('2020-01-01');
  await page.getByText('No matching rows.').waitFor();
  expect(page.url()).toContain('to=2020-01-01');

  await page.goto(`${api.url}/pending`);
  await page.getByLabel('Select row 1 of Waiting').check();
  await page.getByRole('button', { name: 'Retry 1 now' }).click();
  await expect.poll(counts, WAIT).toEqual([2, 2]);

  await page.goto(`${api.url}/jobs/${jobId}?tab=pending`);
  await page.getByRole('button', { name: 'Retry all now' }).click();
  await rowmill.whenFinished(jobId);
  await page.getByRole('heading', { name: 'Nothing in progress' }).waitFor();
  expectNoComplaints(complaints);
});

test('waiting rows have their columns, load on scrolling, link to their job, and are processed from the page', async () => {
  const name = `unworked-${newId()}`;
  const unworked = definePipeline({
    name,
    summary: ['title'],
    phases: [{ name: 'lookup', run: ({ title }) => ({ price: String(title).length }) }],
  });
  const api = await startTestApi(database.url, {
    pipelines: [unworked],
    settings: { pendingDashboard: 'on' },
  });
  rowmill = await openRowmill({ databaseUrl: database.url });
  const rows = Array.from({ length: 250 }, (_, n) => ({ title: `Title ${n}` }));
  const jobId = await rowmill.submit(unworked, rows, { name: 'Unworked' });
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/pending?jobType=${name}`);
  const dashboard = page.getByRole('region', { name: 'Unfinished rows' });
  await dashboard.getByText('Title 0', { exact: true }).waitFor();
  for (const heading of ['Row', 'Summary', 'Status', 'Attempts', 'Worker', 'Updated', 'Pipeline', 'Job'])
    expect(await dashboard.getByRole('columnheader', { name: heading, exact: true }).count(), heading).toBe(
      1,
    );
  expect(await dashboard.getByText('Title 249', { exact: true }).count()).toBe(0);
  await expect
    .poll(async () => {
      await page.mouse.wheel(0, 20_000);
      return dashboard.getByText('Title 249', { exact: true }).count();
    }, WAIT)
    .toBe(1);
  const [first] = await dashboard.getByRole('row').filter({ hasText: 'Title 0' }).all();
  for (const cell of ['Pending', '0', name, 'Unworked 0 %'])
    expect(await first!.getByRole('cell', { name: cell, exact: true }).count(), cell).toBe(1);
  await first!.getByRole('link', { name: 'Unworked' }).click();
  await page.getByRole('heading', { name: 'Unworked' }).waitFor();
  expect(page.url()).toContain(jobId);

  await page.goto(`${api.url}/jobs/${jobId}?tab=pending`);
  const tab = page.getByRole('table', { name: 'Unfinished rows' });
  await tab.getByText('Title 0', { exact: true }).waitFor();
  for (const heading of [
    'Row',
    'Summary',
    'Status',
    'Phase',
    'Attempts',
    'Worker',
    'Updated',
    'Pipeline',
    'Progress',
  ])
    expect(await tab.getByRole('columnheader', { name: heading, exact: true }).count(), heading).toBe(1);
  await tab.hover();
  await expect
    .poll(async () => {
      await page.mouse.wheel(0, 20_000);
      return tab.getByText('Title 249', { exact: true }).count();
    }, WAIT)
    .toBe(1);

  await page.getByRole('button', { name: 'Process now' }).click();
  expect(await rowmill.whenFinished(jobId)).toMatchObject({ counts: { DONE: 250 } });
  await page.getByRole('heading', { name: 'Nothing in progress' }).waitFor();
  expectNoComplaints(complaints);
});

test('the history of a resource is shown', async () => {
  const api = await startTestApi(database.url);
  const key = newId();
  const limits = { ratePerSecond: 50, concurrency: 10, minDelayMs: null, adaptive: true };
  await database.query(`insert into resources (name, key, limits) values ('maps', $1, $2)`, [
    key,
    JSON.stringify(limits),
  ]);
  await database.query(
    `insert into resource_samples (name, key, at, concurrency, rate, in_use, calls, throttled)
     select 'maps', $1, date_bin('15 seconds', now() - n * interval '1 minute', 'epoch'), 10, 50, 4, (60 - n) * 120, (60 - n) * 2
     from generate_series(1, 30) n`,
    [key],
  );
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/resources`);
  await page.getByRole('button', { name: `History of maps ${key}` }).click();
  await page.getByRole('heading', { name: `History of maps · ${key}` }).waitFor();
  await page.getByRole('img', { name: 'Concurrent calls over time, at most 4 used' }).waitFor();
  // 30 samples are 29 intervals.
  await page.getByRole('img', { name: 'Calls per second over time, 3,480 in total' }).waitFor();
  await page.getByRole('img', { name: 'Rate-limited calls over time, 58 in total' }).waitFor();
  await expect.poll(() => page.getByRole('dialog').locator('canvas').count()).toBe(3);
  await expectAccessible(page);
  await page.getByLabel('Time', { exact: true }).selectOption('24');
  await page.getByRole('img', { name: 'Rate-limited calls over time, 58 in total' }).waitFor();
  expectNoComplaints(complaints);
});

test('the share of an owner is changed, and a source is scanned', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-operators-'));
  const [grace, file] = [newId(), `${newId()}.csv`];
  writeFileSync(join(folder, file), `sku\na\n${file}\n`);
  const sources = [
    {
      name: 'incoming',
      kind: 'folder' as const,
      path: folder,
      pipeline: 'prices',
      stableMs: 0,
      onDone: 'leave' as const,
    },
  ];
  const api = await startTestApi(database.url, { pipelines: [pipeline], sources });
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/settings?tab=owners`);
  await page.getByRole('button', { name: 'Add quota' }).click();
  await page.getByLabel('Owner', { exact: true }).fill(grace);
  await page.getByLabel('Share of workers').fill('3');
  await page.getByLabel('Max rows').fill('40');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: `Edit quota for ${grace}` }).click();
  expect(await page.getByLabel('Share of workers').inputValue()).toBe('3');
  await page.getByLabel('Max rows').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const owners = await database.query(`select weight::int, max_in_flight from owners where owner_id = $1`, [
    grace,
  ]);
  expect(owners).toEqual([{ weight: 3, max_in_flight: null }]);

  await page.goto(`${api.url}/settings?tab=sources`);
  await page.getByRole('button', { name: 'Scan now incoming' }).click();
  await page.getByRole('link', { name: file }).waitFor();
  await expectAccessible(page);
  await page.getByRole('link', { name: file }).click();
  await page.getByRole('heading', { name: file }).waitFor();
  expectNoComplaints(complaints);
  rmSync(folder, { recursive: true, force: true });
});

test('a long search shows its progress, is stopped, and continues', async () => {
  const api = await startTestApi(database.url);
  rowmill = await openRowmill({ databaseUrl: database.url });
  const count = 150_000;
  function* rows() {
    for (let at = 0; at < count; at += 1) yield { sku: at === count - 1 ? 'needle' : 'hay' };
  }
  const jobId = await rowmill.submit(pipeline, rows(), { hold: true });
  const { page, complaints } = await browser.open();
  // Every answer but the first is delayed, so that there is time to stop.
  let open: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  await page.route(/\/items\?.*after=/, async (route) => {
    await gate;
    await route.continue().catch(() => {});
  });
  await page.goto(`${api.url}/jobs/${jobId}?search=needle`);
  const status = page.getByRole('region', { name: 'Rows' }).getByRole('status');
  await expect
    .poll(() => status.textContent(), WAIT)
    .toMatch(/^0 matches so far \(searched [\d,]+ of 150,000\)…$/);
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await expect
    .poll(() => status.textContent(), WAIT)
    .toMatch(/^0 matches so far \(searched [\d,]+ of 150,000\)$/);
  await expectAccessible(page);
  open();
  await page.getByRole('button', { name: 'Keep searching' }).click();
  await page.getByRole('table', { name: 'Job rows' }).getByText('needle').waitFor(WAIT);
  await expect.poll(() => status.textContent(), WAIT).toBe('1 match');
  expectNoComplaints(complaints);
});
