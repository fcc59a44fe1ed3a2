// Upload of a larger file from a real browser: paused and resumed, and resumed after the connection was cut. In both
// cases stored parts are not sent again, and the job has the bytes of the file.
import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline } from '../../src/index.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
const pipeline = definePipeline({ name: 'prices', phases: [{ name: 'lookup', run: () => ({}) }] });
const PART_BYTES = 1_048_576;

let api: RunningApi;
/** Offsets of the sent parts, in the order of their requests. */
let offsets: number[];
beforeEach(async () => {
  api = await startTestApi(database.url, { pipelines: [pipeline] });
  offsets = [];
});
afterEach(() => database.query('delete from uploads'));

/** Six parts. */
function fileOf(word: string): { name: string; mimeType: string; buffer: Buffer } {
  const rows = Array.from({ length: 5500 }, (_, n) => `${n},${word.repeat(250)}\n`);
  return { name: `${word}.csv`, mimeType: 'text/csv', buffer: Buffer.from(`n,note\n${rows.join('')}`) };
}

async function chooseFile(url: string, file: ReturnType<typeof fileOf>) {
  const opened = await browser.open();
  const { page } = opened;
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname.endsWith('/parts')) offsets.push(Number(searchParams.get('offset')));
  });
  await page.goto(`${url}/jobs/new?pipeline=prices`);
  await page.getByLabel('File to upload').setInputFiles(file);
  await page.getByText('4. Options').waitFor();
  await page.getByLabel("Don't start yet").check();
  return opened;
}

async function expectJob(page: Page, file: ReturnType<typeof fileOf>): Promise<void> {
  await page.getByRole('heading', { name: file.name }).waitFor();
  const jobId = /jobs\/([0-9a-f-]{36})/.exec(page.url())![1];
  const [job] = await database.query<{ source: { sha256: string; bytes: number } }>(
    'select source from jobs where job_id = $1',
    [jobId],
  );
  expect(job!.source).toMatchObject({
    bytes: file.buffer.length,
    sha256: createHash('sha256').update(file.buffer).digest('hex'),
  });
}

test('an upload is paused, and resumes where it stopped', async () => {
  const file = fileOf('quay');
  const { page, complaints } = await chooseFile(api.url, file);
  // The fourth part is delayed until the test has paused.
  await page.route('**/parts?offset=*', (route) =>
    route
      .request()
      .url()
      .endsWith(`offset=${3 * PART_BYTES}`)
      ? undefined
      : route.continue(),
  );
  await page.getByRole('button', { name: 'Upload only' }).click();
  await expect.poll(() => offsets.at(-1)).toBe(3 * PART_BYTES);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText(/^Paused at 3[.,]\d+ MB of 5[.,]\d+ MB$/).waitFor();
  expect(await page.getByRole('button', { name: 'Upload only' }).count()).toBe(0);
  await page.unroute('**/parts?offset=*');
  offsets = [];
  await page.getByRole('button', { name: 'Resume' }).click();
  await expectJob(page, file);
  expect(offsets).toEqual([3, 4, 5].map((at) => at * PART_BYTES));
  expectNoComplaints(complaints);
});

test('an upload whose connection was cut shows how much is stored, and continues after that', async () => {
  const file = fileOf('wave');
  const proxy = await startCuttableProxy(api.url);
  const { page } = await chooseFile(proxy.url, file);
  proxy.cutAfter(Math.floor(2.5 * PART_BYTES));
  await page.getByRole('button', { name: 'Upload only' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByText(/^2[.,]\d+ MB of 5[.,]\d+ MB already uploaded/).waitFor();
  proxy.heal();
  offsets = [];
  await page.getByRole('button', { name: 'Resume' }).click();
  await expectJob(page, file);
  expect(offsets).toEqual([2, 3, 4, 5].map((at) => at * PART_BYTES));
});

test('over connections that break repeatedly the file is sent in smaller parts', async () => {
  const file = fileOf('reef');
  const proxy = await startCuttableProxy(api.url);
  const { page } = await chooseFile(proxy.url, file);
  // No part of the initial size arrives.
  const { cuts } = proxy.cutEach(Math.floor(0.7 * PART_BYTES));
  await page.getByRole('button', { name: 'Upload only' }).click();
  await expectJob(page, file);
  expect(cuts()).toBeGreaterThan(0);
  const parts = await database.query<{ bytes: string }>('select bytes from upload_parts order by start');
  expect(parts.length).toBeGreaterThan(6);
  expect(Math.max(...parts.map(({ bytes }) => Number(bytes)))).toBeLessThan(PART_BYTES);
});

test('over a slow connection the bar moves within a part, and a pause shows how much is stored', async () => {
  const file = fileOf('tide');
  const { page } = await chooseFile(api.url, file);
  const network = await page.context().newCDPSession(page);
  const throttle = (uploadThroughput: number) =>
    network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput,
    });
  await network.send('Network.enable');
  await throttle(200_000);
  await page.getByRole('button', { name: 'Upload only' }).click();
  const whole = Array.from({ length: 7 }, (_, at) =>
    Math.round((100 * Math.min(at * PART_BYTES, file.buffer.length)) / file.buffer.length),
  );
  const bar = page.getByRole('progressbar', { name: 'Upload' });
  await expect.poll(async () => whole.includes(Number(await bar.getAttribute('aria-valuenow')))).toBe(false);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText(/^Paused at /).waitFor();
  const [upload] = await database.query<{ received: string }>('select received from uploads');
  const percent = Math.round((100 * Number(upload!.received)) / file.buffer.length);
  expect(await bar.getAttribute('aria-valuenow')).toBe(String(percent));
  await throttle(-1);
  await page.getByRole('button', { name: 'Resume' }).click();
  await expectJob(page, file);
});

test('a cancelled upload is deleted on the server', async () => {
  const { page } = await chooseFile(api.url, fileOf('pier'));
  await page.route('**/parts?offset=*', (route) =>
    route.request().url().endsWith(`offset=${PART_BYTES}`) ? undefined : route.continue(),
  );
  await page.getByRole('button', { name: 'Upload only' }).click();
  await expect.poll(() => offsets.at(-1)).toBe(PART_BYTES);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Upload only' }).waitFor();
  await expect.poll(() => database.query('select 1 from uploads')).toEqual([]);
});
