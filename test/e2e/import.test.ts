// From a file to its result without a wrong guess, in a real browser with a worker: a messy workbook is read and mapped
// by itself in five clicks, problems anywhere in a large file are found before the start, and the file is sent once.
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { expectAccessible } from '../support/accessible.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { writeWorkbook } from '../support/workbook-writer.ts';

const database = useTestDatabase();
const browser = useBrowser();
const companies = definePipeline({
  name: 'companies',
  input: z.object({
    name: z.string().min(1),
    website: z.url(),
    country: z.string().length(2),
    employees: z.coerce.number(),
  }),
  phases: [{ name: 'look', cost: 0.5, run: ({ name }) => ({ found: `${name} GmbH` }) }],
});
const other = definePipeline({ name: 'addresses', phases: [{ name: 'check', run: () => ({}) }] });

let api: RunningApi;
let rowmill: Rowmill;
let worker: RowmillWorker;
beforeEach(async () => {
  api = await startTestApi(database.url, { pipelines: [other, companies] });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([companies]);
});
afterEach(async () => {
  await worker?.stop();
  await rowmill?.close();
});

const HEADER = ['Company name', 'URL', 'Country code', 'Headcount'];
const company = (name: string) => [name, `https://${name.toLowerCase()}.example`, 'DE', '120'];

/** A cover sheet, and a sheet with titles and a note above its table. */
function messyWorkbook(): { name: string; mimeType: string; buffer: Buffer } {
  const row = (line: number, cells: string[]) =>
    `<row r="${line}">${cells
      .map((text, at) => `<c r="${'ABCD'[at]}${line}" t="inlineStr"><is><t>${text}</t></is></c>`)
      .join('')}</row>`;
  const table = [HEADER, company('Acme'), company('Globex'), company('Initech')];
  const data = [
    row(1, ['Customers of 2026']),
    row(2, [`Exported as ${newId()}`]),
    ...table.map((cells, at) => row(at + 5, cells)),
  ].join('');
  const sheets = [
    { name: 'Cover', data: row(1, ['Customer list']) },
    { name: 'Customers', data },
  ];
  return { name: 'customers.xlsx', mimeType: 'application/octet-stream', buffer: writeWorkbook({ sheets }) };
}

/** Counts clicks of the user; a chosen file and a chosen option count as one each. */
async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`
    window.clicks = 0;
    for (const kind of ['click', 'change']) document.addEventListener(kind, () => { window.clicks += 1; }, true);
  `);
  return () => page.evaluate<number>('window.clicks');
}

test('a messy workbook becomes a result in five clicks, with its sheet, header row and columns found', async () => {
  const { page, complaints } = await browser.open();
  await page.goto(api.url);
  await page.getByRole('link', { name: 'New job' }).first().waitFor();
  const clicks = await countClicks(page);
  await page.getByRole('link', { name: 'New job' }).first().click();
  await page.getByLabel('Pipeline', { exact: true }).selectOption('companies');
  await page.getByLabel('File to upload').setInputFiles(messyWorkbook());
  await page.getByText('Row 5 names the columns. Rows 1–2 above it are skipped.').waitFor();
  const sheets = page.getByRole('group', { name: 'Sheet' });
  expect(await sheets.getByRole('button', { pressed: true }).textContent()).toBe('Customers 6 rows');
  await page.getByText('4 of 4 fields matched.').waitFor();
  await page.getByText('Checked all 3 rows: no problems.').waitFor();
  await page.getByText('cost about 1.50 (as the pipeline declares)').waitFor();
  await page.getByText(/time unknown: /).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Start job' }).click();
  // Paid, and without a budget.
  await page.getByRole('button', { name: 'Start anyway' }).click();
  await page.getByRole('heading', { name: 'customers.xlsx' }).waitFor();
  expect(await clicks()).toBeLessThanOrEqual(5);
  await page.getByText('Acme GmbH').first().waitFor();
  expectNoComplaints(complaints);
});

test('another header row, another sheet and another column are one click each', async () => {
  const { page } = await browser.open({ width: 390, dark: true });
  await page.goto(`${api.url}/jobs/new?pipeline=companies`);
  await page.getByLabel('File to upload').setInputFiles(messyWorkbook());
  await page.getByText('4 of 4 fields matched.').waitFor();
  await page.getByRole('button', { name: 'Cover' }).click();
  await page
    .getByText(/^0 of 4 fields matched\. Without a column: name, website, country, employees/)
    .waitFor();
  await page.getByRole('button', { name: 'Customers' }).click();
  await page.getByText('4 of 4 fields matched.').waitFor();
  await page.getByRole('radio', { name: 'Row 1 names the columns' }).click();
  await page.getByText('Choose the header row.').waitFor();
  expect(await page.getByRole('button', { name: 'Start job' }).isDisabled()).toBe(true);
  await page.getByRole('radio', { name: 'Row 5 names the columns' }).click();
  await page.getByText('4 of 4 fields matched.').waitFor();
  await page.getByLabel('country').selectOption('Not mapped');
  await page.getByText('3 of 4 fields matched. Without a column: country (required).').waitFor();
  await page.getByText('Match the required column: country.').waitFor();
  await page.getByLabel('country').selectOption('Country code');
  await page.getByText('selected by you').waitFor();
  await expectAccessible(page);
});

test('problems at the end of a large file are found before the start, and the file is sent once', async () => {
  const rows = Array.from({ length: 30_000 }, (_, n) => company(`Firm${n}`).join(','));
  for (let n = 0; n < 250; n += 1) rows[29_000 + n] = `Firm,https://firm.example,Germany,${n}`;
  rows[29_990] = 'only one cell';
  const buffer = Buffer.from(`${HEADER.join(',')}\n${rows.join('\n')}\n${newId()},https://a.example,DE,1\n`);
  const parts: string[] = [];
  const { page } = await browser.open();
  page.on('request', (request) => {
    if (request.url().includes('/parts')) parts.push(request.url());
  });
  await page.goto(`${api.url}/jobs/new?pipeline=companies`);
  await page.getByLabel('File to upload').setInputFiles({ name: 'firms.csv', mimeType: 'text/csv', buffer });
  await page
    .getByText(
      'Checked all 30,001 rows: 250 rows will fail at no cost; you can correct them later. 1 line cannot be',
    )
    .waitFor();
  await page.getByText('29,750 rows to run').waitFor();
  await page.getByLabel('Problems only').check();
  await page.getByText('1–100 of 251').waitFor();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('101–200 of 251').waitFor();
  await page.getByRole('button', { name: /^cannot be read/ }).click();
  await page.getByText('only one cell').waitFor();
  await page.getByRole('button', { name: /^country: expected/ }).click();
  await page.getByText('1–100 of 250').waitFor();
  await expectAccessible(page);
  const sent = parts.length;
  expect(sent).toBeGreaterThan(0);
  await page.getByLabel("Don't start yet").check();
  await page.getByRole('button', { name: 'Upload only' }).click();
  await page.getByRole('heading', { name: 'firms.csv' }).waitFor();
  expect(parts.length).toBe(sent);
});
