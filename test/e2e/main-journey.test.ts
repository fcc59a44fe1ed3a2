// What somebody with a messy file does, in a real browser on a real server with a worker: look at it, say which column is
// which, run it, watch it end, look at what failed, and take the results home.
import { readFile } from 'node:fs/promises';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { definePipeline, notFound, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
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

const HOSTILE = '<img src=x onerror=alert(1)>';
const pipeline = definePipeline({
  name: 'prices',
  input: z.object({ sku: z.string(), quantity: z.coerce.number() }),
  outputs: ['csv'],
  phases: [
    {
      name: 'lookup',
      run: ({ sku, quantity }) => {
        if (sku === 'missing') return notFound();
        if (sku === 'broken') throw Object.assign(new Error(`no price for ${HOSTILE}`), { status: 400 });
        return { value: quantity * 2, note: HOSTILE };
      },
    },
  ],
});
/** A preamble, semicolons, an unknown header, hostile cells. */
const CSV = [
  'Article;Quantity;Comment',
  `A-1;3;${HOSTILE}`,
  'missing;1;gone',
  'broken;1;bad',
  'A-2;5;"said ""so"""',
].join('\r\n');

async function openPage(options: { dark?: boolean } = {}) {
  const api = await startTestApi(database.url, { pipelines: [pipeline] });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([pipeline]);
  const opened = await browser.open(options);
  await opened.page.goto(api.url);
  return opened;
}

async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
}

test('a messy file is mapped, run, watched to its end and taken home', async () => {
  const { page, complaints } = await openPage();
  await page.getByRole('link', { name: 'New job' }).first().click();
  await page.getByLabel('Pipeline').selectOption('prices');
  await page
    .getByLabel('File to upload')
    .setInputFiles({ name: 'products.csv', mimeType: 'text/csv', buffer: Buffer.from(CSV) });
  await page.getByText('Say which column is sku.').waitFor();
  await page.getByLabel('sku', { exact: false }).first().selectOption('Article');
  await page.getByRole('button', { name: /start/i }).click();

  await page.getByRole('heading', { name: 'products.csv' }).waitFor();
  await page.getByText('Done', { exact: true }).first().waitFor();
  await expect.poll(() => page.getByText('A-1').count()).toBeGreaterThan(0);
  await expectAccessible(page);

  const download = page.waitForEvent('download');
  await page
    .getByText(/export this view/i)
    .first()
    .click();
  const csv = page.getByRole('menuitem', { name: /csv/i });
  if (await csv.count()) await csv.first().click();
  const file = await readFile(await (await download).path(), 'utf8');
  expect(file).toContain('A-2');
  expect(file).toContain('said ""so""');
  expectNoComplaints(complaints);
});
