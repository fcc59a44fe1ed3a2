// Requests before the job list or a job is visible: little code, compressed, from this server only; shown data is
// fetched once.
import type { Response } from 'playwright-core';
import { expect, test } from 'vitest';
import { definePipeline, openRowmill } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
const pipeline = definePipeline({ name: 'prices', phases: [{ name: 'lookup', run: () => ({ price: 1 }) }] });

/** Transferred bytes of code. */
async function codeBytes(responses: readonly Response[]): Promise<number> {
  const scripts = responses.filter((each) => /javascript/.test(each.headers()['content-type'] ?? ''));
  expect(scripts.length).toBeGreaterThan(0);
  const sizes = await Promise.all(
    scripts.map(async (each) => (await each.request().sizes()).responseBodySize),
  );
  const bodies = await Promise.all(scripts.map(async (each) => (await each.body()).toString()));
  const sum = (all: number[]): number => all.reduce((total, size) => total + size, 0);
  // Makes sure that the sizes are those of compressed bytes.
  expect(sum(sizes)).toBeGreaterThan(50_000);
  expect(sum(sizes)).toBeLessThan(sum(bodies.map(({ length }) => length)) / 2);
  // Schemas stay on the server.
  expect(bodies.filter((body) => body.includes('ZodObject'))).toEqual([]);
  return sum(sizes);
}

test('the list of jobs needs less than 250 kB of compressed code, all of it from this server', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [pipeline] });
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const name = newId();
  await rowmill.submit(pipeline, [{ sku: 'A-1' }], { name, hold: true });
  await rowmill.close();
  const { page, complaints } = await browser.open();
  const responses: Response[] = [];
  page.on('response', (response) => responses.push(response));
  await page.goto(`${url}/jobs`);
  await page.getByRole('link', { name }).waitFor();

  expect(new Set(responses.map((response) => new URL(response.url()).origin))).toEqual(new Set([url]));
  expect(await codeBytes(responses)).toBeLessThan(250_000);
  expectNoComplaints(complaints);
});

test('a job is shown with one request for it and one for its first rows, without the code of hidden parts', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [pipeline] });
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const worker = await rowmill.startWorker([pipeline]);
  const rows = Array.from({ length: 300 }, (_, at) => ({ sku: `A-${at}` }));
  const jobId = await rowmill.submit(pipeline, rows, { name: 'Ended' });
  await rowmill.whenFinished(jobId);
  await worker.stop();
  await rowmill.close();
  const { page, complaints } = await browser.open();
  const responses: Response[] = [];
  page.on('response', (response) => responses.push(response));
  await page.goto(`${url}/jobs/${jobId}`);
  await page.getByRole('table', { name: 'Job rows' }).getByText('A-7', { exact: true }).waitFor();
  await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
  expect(await codeBytes(responses)).toBeLessThan(250_000);
  const files = responses.map((response) => new URL(response.url()).pathname.split('/').at(-1)!);
  expect(files.filter((file) => /^(dialog|item-drawer|errors-tab|files-tab|time-chart)-/.test(file))).toEqual(
    [],
  );

  // A second request for the rows would have been sent before this.
  await page.getByRole('tab', { name: 'Activity' }).click();
  await page.getByRole('list', { name: 'Activity' }).waitFor();
  const asked = responses.map((response) => new URL(response.url()).pathname);
  expect(asked.filter((path) => path === `/api/v1/jobs/${jobId}/items`)).toHaveLength(1);
  expect(asked.filter((path) => path === `/api/v1/jobs/${jobId}`)).toHaveLength(1);
  expectNoComplaints(complaints);
});
