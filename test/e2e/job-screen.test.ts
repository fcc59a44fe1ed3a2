// The job screen in a real browser on a real server with a worker: a failed row is found, corrected and rerun, and the
// export equals the grid.
import { readFile } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { definePipeline, fail, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { expectAccessibleInBothColours } from '../support/accessible.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { depth } from '../support/depth.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
let rowmill: Rowmill;
let worker: RowmillWorker | undefined;
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await rowmill?.close();
});

const HOSTILE = '<img src=x onerror=alert(1)>';
const pipeline = definePipeline({
  name: 'prices',
  phases: [
    {
      name: 'lookup',
      run: (row) =>
        row.sku === 'bad'
          ? fail(`no price for ${String(row.title)}`)
          : { price: String(row.sku).length, note: HOSTILE },
    },
  ],
});

async function openJob(rows: Iterable<object>) {
  const api = await startTestApi(database.url, { pipelines: [pipeline] });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(pipeline, rows, { name: 'Catalogue' });
  await rowmill.whenFinished(jobId);
  return { jobId, address: `${api.url}/jobs/${jobId}` };
}

const products = Array.from({ length: 300 }, (_, at) => ({
  sku: at % 100 === 7 ? 'bad' : `sku-${at}`,
  title: at === 3 ? HOSTILE : `product ${at}`,
}));

test('a failed row is found, corrected and rerun, and the export equals the grid', async () => {
  const { address } = await openJob(products);
  const { page, complaints } = await browser.open();
  await page.goto(`${address}?tab=errors`);
  await page.getByRole('button', { name: 'Show rows' }).click();
  const grid = page.getByRole('table', { name: 'Job rows' });
  await expect.poll(() => grid.getByRole('rowheader').allInnerTexts()).toEqual(['8', '108', '208']);

  await grid.getByRole('button', { name: 'Open row 108' }).click();
  await page.getByRole('button', { name: 'Edit & rerun' }).click();
  await page.getByLabel('sku', { exact: true }).fill('sku-107');
  await page.getByRole('button', { name: 'Save and rerun' }).click();
  await page.getByRole('dialog').getByText('Done', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Close' }).first().click();
  await expect.poll(() => grid.getByRole('rowheader').allInnerTexts()).toEqual(['8', '208']);

  await page.getByRole('button', { name: 'Export view' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'CSV', exact: true }).click(),
  ]);
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split(/\r?\n/);
  expect(lines.length).toBe(3);
  const heads = await grid.getByRole('columnheader').allInnerTexts();
  expect(lines[0]!.toLowerCase()).toBe(heads.slice(2).join(',').toLowerCase());
  expect(lines[1]).toContain('product 7');
  expectNoComplaints(complaints);
});

test('a file of 300 columns shows its results and exports every column', async () => {
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`column ${at}`, `cell ${at}`]));
  const { address } = await openJob([{ sku: 'A-1', ...wide }]);
  const { page, complaints } = await browser.open();
  await page.goto(address);
  const grid = page.getByRole('table', { name: 'Job rows' });
  await grid.getByText('cell 0', { exact: true }).waitFor();
  // Results and error are beside the first column of the file, and columns out of view are not in the document.
  const heads = await grid.getByRole('columnheader').allInnerTexts();
  expect(heads.slice(2, 7)).toEqual(['Status', 'sku', 'price', 'note', 'Error']);
  expect(heads.length).toBeLessThan(40);
  await grid.getByText(HOSTILE, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Export view' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'CSV', exact: true }).click(),
  ]);
  const [head, line] = (await readFile(await download.path(), 'utf8')).split(/\r?\n/);
  expect(head!.split(',')).toEqual(['status', 'sku', 'price', 'note', 'error', ...Object.keys(wide)]);
  expect(line).toMatch(/^DONE,A-1,3,.*cell 299$/);
  // Any column is one scroll away.
  await grid.evaluate((table) => {
    table.scrollLeft = table.scrollWidth;
  });
  await grid.getByText('cell 299', { exact: true }).waitFor();
  expect(await grid.getByRole('columnheader', { name: 'column 299' }).getAttribute('aria-colindex')).toBe(
    '307',
  );
  // So is any column of the menu, which has only the lines in view.
  await page.getByRole('button', { name: /^Columns/ }).click();
  await page.getByRole('checkbox', { name: 'sku' }).waitFor();
  expect(await page.getByRole('listitem').count()).toBeLessThan(40);
  await page.getByLabel('Find a column').fill('column 299');
  await page.getByRole('checkbox', { name: 'column 299' }).waitFor();
  expectNoComplaints(complaints);
});

test('every part is accessible in light and dark colours, and no cell content is executed', async () => {
  const { address } = await openJob(products);
  const { page, complaints } = await browser.open();
  for (const part of [
    ...['?overview=true', '?tab=pending', '?tab=errors', '?tab=rejected'],
    ...['?tab=files', '?tab=generations', '?tab=activity', '?row=3'],
  ]) {
    await page.goto(address + part);
    await page.getByRole('tab', { selected: true, includeHidden: true }).waitFor({ state: 'attached' });
    await expectAccessibleInBothColours(page);
  }
  expectNoComplaints(complaints);
});

test('the rows of the last selection are shown, however quickly selections follow each other on a slow machine', async () => {
  const { address } = await openJob(products);
  const { page } = await browser.open();
  await page.goto(address);
  const slow = await page.context().newCDPSession(page);
  const choices = page.getByRole('region', { name: 'Result' });
  const grid = page.getByRole('table', { name: 'Job rows' });
  for (let at = 0; at < depth(8, 30); at += 1) {
    await slow.send('Emulation.setCPUThrottlingRate', { rate: 1 + (at % 5) * 2 });
    const [name, first] = at % 2 === 0 ? (['3 failed', '8'] as const) : (['297 done', '1'] as const);
    await choices.getByRole('link', { name }).click();
    await expect.poll(() => grid.getByRole('rowheader').first().textContent()).toBe(first);
  }
});
