// The page for a new user: nothing exists yet, or something keeps a job from running. Each screen shows the next step.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ReloadState } from '../../src/api/api-context.ts';
import { createClient } from '../../src/client/create-client.ts';
import { definePipeline, openRowmill, type Pipeline, type Rowmill } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { expectAccessible } from '../support/accessible.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
const prices: Pipeline = definePipeline({
  name: 'prices',
  phases: [{ name: 'lookup', run: () => ({ price: 1 }) }],
});

let rowmill: Rowmill;
beforeEach(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterEach(() => rowmill.close());

test('without pipelines, workers and jobs every screen explains how to get them', async () => {
  await database.query('truncate jobs, workers cascade');
  const api = await startTestApi(database.url);
  const { page, complaints } = await browser.open();
  const screens = [
    ['/jobs', 'No jobs yet', 'rowmill submit'],
    ['/jobs/new', 'No pipelines yet', 'rowmill server pipelines/price-lookup.ts'],
    ['/pipelines', 'No pipelines yet', 'rowmill server pipelines/price-lookup.ts'],
    ['/workers', 'No workers yet', 'rowmill worker'],
    ['/resources', 'No resources yet', 'Pipelines declare'],
    ['/webhooks', 'No alerts or webhooks yet', 'Rowmill sends a mail, a chat message or a signed request'],
  ] as const;
  for (const [path, heading, words] of screens) {
    await page.goto(api.url + path);
    await page.getByRole('heading', { name: heading }).waitFor();
    await page.getByText(words).first().waitFor();
    await expectAccessible(page);
  }
  expectNoComplaints(complaints);
});

test('the first steps lead from an empty server to the first result, and end there', async () => {
  await database.query('truncate jobs, workers cascade');
  const api = await startTestApi(database.url, { pipelines: [prices] });
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs`);
  const steps = page.getByRole('region', { name: 'First steps' });
  const stepsWith = (state: 'Done' | 'To do') =>
    steps
      .getByRole('listitem')
      .filter({ has: page.getByLabel(state, { exact: true }) })
      .allInnerTexts();
  await expect.poll(() => stepsWith('Done')).toEqual(['Load a pipeline']);
  await steps.getByText('rowmill worker pipelines/price-lookup.ts').waitFor();
  await expectAccessible(page);
  const worker = await rowmill.startWorker([prices]);
  await expect.poll(() => stepsWith('Done')).toEqual(['Load a pipeline', 'Connect a worker']);
  expect(await steps.getByRole('link', { name: 'Upload a file' }).getAttribute('href')).toBe('/jobs/new');
  const jobId = await rowmill.submit(prices, [{ sku: 'a' }], { name: 'First', ownerId: 'local' });
  await rowmill.whenFinished(jobId);
  // The last step of a server without accounts is the first result.
  await page.getByText('First', { exact: true }).waitFor();
  await steps.waitFor({ state: 'detached' });
  await worker.stop();
  await page.reload();
  await page.getByText('First', { exact: true }).waitFor();
  expect(await steps.count()).toBe(0);
  expectNoComplaints(complaints);
});

test('a sample file of the project is one click away from its preview', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-sample-'));
  const name = `${newId()}.csv`;
  writeFileSync(join(folder, name), 'sku,note\nA-1,first\nA-2,second\n');
  const api = await startTestApi(database.url, { pipelines: [prices], samples: [join(folder, name)] });
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/new`);
  await page.getByText('Or try a sample file').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name }).click();
  await page.getByText('A-2').first().waitFor();
  await page.getByRole('button', { name: 'Start job' }).click();
  await page.getByRole('heading', { name }).waitFor();
  expectNoComplaints(complaints);
  rmSync(folder, { recursive: true });
});

test('a failed reload of rowmill dev is shown on the page until it is corrected', async () => {
  const api = await startTestApi(database.url, { pipelines: [prices] });
  const reloadBecomes = (reload: ReloadState): void => void Object.assign(api.context, { reload });
  reloadBecomes({ count: 0, error: null });
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/new`);
  await page.getByText('lookup').first().waitFor();
  const error = {
    message: 'pipeline.ts is not valid TypeScript at line 3',
    hint: 'Correct the syntax there.',
  };
  reloadBecomes({ count: 0, error });
  await page.getByText(`Reload failed, the earlier code stays in use: ${error.message}`).waitFor();
  await page.getByText(error.hint).waitFor();
  await expectAccessible(page);
  const changed = definePipeline({ name: 'prices', phases: [{ name: 'corrected', run: () => ({}) }] });
  Object.assign(api.context, { pipelines: [changed] });
  reloadBecomes({ count: 1, error: null });
  await page.getByText('Reload failed').waitFor({ state: 'detached' });
  await page.getByText('corrected').first().waitFor();
  expectNoComplaints(complaints);
});

test('a job that no worker can run shows what it waits for and how to start a worker', async () => {
  const api = await startTestApi(database.url, { pipelines: [prices] });
  const jobId = await rowmill.submit(prices, [{ sku: 'a' }], { name: 'Blocked', ownerId: 'local' });
  const { page } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}`);
  await page.getByText(/^No worker (is running|has the pipeline prices)/).waitFor();
  await page.getByText('rowmill worker', { exact: true }).waitFor();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'View workers' }).click();
  await page.getByRole('heading', { name: 'Workers', exact: true }).waitFor();
});

test('a file that could not be read shows the reason, and leads to a new job', async () => {
  // Nothing is stored before the end of the file, which is behind the rows that are read before the job is created.
  const settings = { ingestMinRows: 3000, ingestMaxRows: 3000 };
  const api = await startTestApi(database.url, { pipelines: [prices], settings });
  const client = createClient({ baseUrl: api.url });
  const file = new File([`[${'{"sku": "a"}, '.repeat(2000)}{"sku": `], 'cut.json');
  const { jobId } = await client.upload(file, { pipeline: 'prices', format: { format: 'json' } });
  const { page } = await browser.open();
  // With the details open, as on a page that was there before the end, the reason is shown once.
  await page.goto(`${api.url}/jobs/${jobId}?overview=true`);
  await page.getByText('elements, without its closing bracket').waitFor();
  await page.getByRole('heading', { name: 'No rows', exact: true }).waitFor();
  await page.getByText("The file couldn't be read (see above).").waitFor();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'New job' }).last().click();
  await page.getByRole('heading', { name: 'New job' }).waitFor();
  expect(new URL(page.url()).searchParams.get('pipeline')).toBe('prices');
});

test('a finished test run is shown as finished, with the number of waiting rows', async () => {
  const api = await startTestApi(database.url, { pipelines: [prices] });
  const rows = Array.from({ length: 5 }, (_, n) => ({ n }));
  const jobId = await rowmill.submit(prices, rows, { name: 'Trial', ownerId: 'local', trial: 2 });
  const worker = await rowmill.startWorker([prices]);
  try {
    const { page } = await browser.open();
    await page.goto(`${api.url}/jobs/${jobId}`);
    await page.getByText('Test run finished — 3 rows waiting').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Run remaining 3 rows' }).click();
    await rowmill.whenFinished(jobId);
    await page.getByText('Test run finished').waitFor({ state: 'detached' });
  } finally {
    await worker.stop();
  }
});
