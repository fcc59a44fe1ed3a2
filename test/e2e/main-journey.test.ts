// The journey of a user with a messy file, in a real browser on a real server with a worker: preview it, map its
// columns, run it, watch it finish, correct failed rows, and download a file that equals the grid. With a mouse, and
// with the keyboard alone.
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Download, Locator, Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { definePipeline, notFound, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { expectAccessible } from '../support/accessible.ts';
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
const other = definePipeline({ name: 'addresses', phases: [{ name: 'check', run: () => ({}) }] });

/** Semicolons, an unknown header, hostile cells, an invalid quantity, quotes and a line end in a cell. */
const csvOf = (comment: string): string =>
  [
    'Article;Quantity;Comment',
    `A-1;3;${HOSTILE}`,
    'missing;1;gone',
    `broken;1;${comment}`,
    'A-2;5;"said ""so"""',
    'A-3;many;"two\nlines"',
  ].join('\r\n');

async function openPage(name: string) {
  const api = await startTestApi(database.url, { pipelines: [other, pipeline] });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker([pipeline]);
  const opened = await browser.open();
  await opened.page.goto(api.url);
  // The content is unique: the same bytes would be the same job.
  const file = { name, mimeType: 'text/csv', buffer: Buffer.from(csvOf(newId())) };
  return { ...opened, file };
}

const gridOf = (page: Page) => page.getByRole('table', { name: 'Job rows' });
const progressOf = (page: Page) => page.getByRole('region', { name: 'Progress' });

/** Files contain statuses as in the API. */
const asWord = (status: string): string =>
  status === 'Failed' ? 'ERROR' : status.toUpperCase().replaceAll(' ', '_');

/** The columns and rows of the grid, as they should be in the file. */
async function readGrid(page: Page): Promise<string[][]> {
  const [heads, ...rows] = await gridOf(page).evaluate((table) =>
    [...table.querySelectorAll('[role="row"]')].map((row) =>
      [...row.querySelectorAll('[role="columnheader"], [role="cell"], [role="rowheader"]')]
        // The checkbox and the row number are not columns.
        .slice(2)
        .map((cell) => cell.textContent ?? ''),
    ),
  );
  const statusAt = heads!.findIndex((head) => /status/i.test(head));
  return [
    heads!.map((head) => head.toLowerCase()),
    ...rows.map((cells) => cells.map((text, at) => (at === statusAt ? asWord(text) : text))),
  ];
}

async function readDownload(download: Download): Promise<string[][]> {
  const [heads, ...rows] = parse(await readFile(await download.path(), 'utf8')) as string[][];
  return [heads!.map((head) => head.toLowerCase()), ...rows];
}

const ENDS = ['DONE', 'NOT_FOUND', 'DONE', 'DONE', 'ERROR'];

test('a messy file is mapped, run, watched, corrected, and downloaded as the grid shows it', async () => {
  const { page, complaints, file } = await openPage('products.csv');
  await page.getByRole('link', { name: 'New job' }).first().click();
  await page.getByLabel('Pipeline', { exact: true }).selectOption('prices');
  await page.getByLabel('File to upload').setInputFiles(file);
  await page.getByText('Match the required column: sku.').waitFor();
  await page.getByLabel('sku', { exact: false }).first().selectOption('Article');
  // The row shows its problem before anything is paid for.
  await page
    .getByText(/^Expected a number, got "/i)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Start job' }).click();

  await page.getByRole('heading', { name: 'products.csv' }).waitFor();
  await progressOf(page).getByText('Done 2', { exact: true }).waitFor();
  await progressOf(page).getByText('Not found 1', { exact: true }).waitFor();
  await expectAccessible(page);

  await progressOf(page).getByRole('link', { name: 'Failed 2' }).click();
  await expect.poll(() => gridOf(page).getByRole('rowheader').allInnerTexts()).toEqual(['3', '5']);
  await gridOf(page).getByRole('button', { name: 'Open row 3' }).click();
  await page.getByRole('button', { name: 'Edit & rerun' }).click();
  await page.getByLabel('sku', { exact: true }).fill('A-4');
  await page.getByRole('button', { name: 'Save and rerun' }).click();
  await page.getByRole('dialog').getByText('Done', { exact: true }).first().waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click();
  await expect.poll(() => gridOf(page).getByRole('rowheader').allInnerTexts()).toEqual(['5']);
  // The job is finished too, so nothing on the screen changes any more. One of the two failed rows would fail again:
  // it is counted only on request.
  await page.getByRole('button', { name: 'Retry 1 row…' }).click();
  const question = page.getByRole('dialog', { name: 'Retry unsuccessful rows?' });
  await question.getByText('1 row is not retried: it would fail again. Correct it first.').waitFor();
  await question.getByRole('button', { name: 'Retry 1 row' }).waitFor();
  await question.getByLabel('Include permanent failures').check();
  await question.getByRole('button', { name: 'Retry 2 rows' }).waitFor();
  await question.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Status: Failed' }).click();
  await page.getByRole('menuitem', { name: 'Any status' }).click();
  await expect.poll(() => gridOf(page).getByRole('rowheader').count()).toBe(5);

  // The result of the finished job: a sentence, the way to what failed, and one download named after the file.
  const result = page.getByRole('region', { name: 'Result' });
  await result.getByText(/^3 done, 1 not found, 1 failed, in \d/).waitFor();
  expect(await result.getByRole('link', { name: 'Fix 1' }).getAttribute('href')).toContain('tab=errors');
  const [whole] = await Promise.all([
    page.waitForEvent('download'),
    result.getByRole('link', { name: 'Download CSV' }).click(),
  ]);
  expect(whole.suggestedFilename()).toBe('products-results.csv');

  await page.getByRole('button', { name: 'Export view' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'CSV', exact: true }).click(),
  ]);
  const taken = await readDownload(download);
  expect(taken).toEqual(await readGrid(page));
  const at = (name: string): number => taken[0]!.indexOf(name);
  expect(taken.slice(1).map((row) => row[at('status')])).toEqual(ENDS);
  expect(taken.slice(1).map((row) => row[at('article')])).toEqual(['A-1', 'missing', 'A-4', 'A-2', 'A-3']);
  expect(taken.slice(1).map((row) => row[at('value')])).toEqual(['6', '', '2', '10', '']);
  expect(taken[4]).toContain('said "so"');
  expect(taken[5]).toContain('two\nlines');
  expectNoComplaints(complaints);
});

const hasFocus = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => element === element.ownerDocument.activeElement);

/** Moves the focus by keyboard. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let steps = 0; steps < 200; steps += 1) {
    if (await hasFocus(target)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the keyboard does not get to ${String(target)}`);
}

async function pressOn(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press('Enter');
}

/** A menu takes the focus a moment after it is visible. */
async function chooseInMenu(page: Page, item: Locator): Promise<void> {
  await item.waitFor();
  const walk = async (): Promise<boolean> => {
    await page.keyboard.press('Home');
    for (let steps = 0; steps < 20 && !(await hasFocus(item)); steps += 1)
      await page.keyboard.press('ArrowDown');
    return hasFocus(item);
  };
  await expect.poll(walk).toBe(true);
  await page.keyboard.press('Enter');
}

test('the same journey works by keyboard alone', async () => {
  const { page, complaints, file } = await openPage('keyboard.csv');
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  await pressOn(page, page.getByRole('link', { name: 'New job' }).first());
  await tabTo(page, page.getByLabel('Pipeline', { exact: true }));
  // One letter: after a pause, a list takes the next letter for the start of another word.
  await page.keyboard.type('p');
  const picking = page.waitForEvent('filechooser');
  await pressOn(page, page.getByRole('button', { name: 'Browse files' }));
  await (await picking).setFiles(file);
  await page.getByText('Match the required column: sku.').waitFor();
  await tabTo(page, page.getByLabel('sku', { exact: false }).first());
  await page.keyboard.type('A');
  await page.getByText('Match the required column: sku.').waitFor({ state: 'detached' });
  await pressOn(page, page.getByRole('button', { name: 'Start job' }));

  await page.getByRole('heading', { name: 'keyboard.csv' }).waitFor();
  await pressOn(page, progressOf(page).getByRole('link', { name: 'Failed 2' }));
  await expect.poll(() => gridOf(page).getByRole('rowheader').allInnerTexts()).toEqual(['3', '5']);
  await pressOn(page, gridOf(page));
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /^Row 3/ }).waitFor();
  await pressOn(page, page.getByRole('button', { name: 'Edit & rerun' }));
  await tabTo(page, page.getByLabel('sku', { exact: true }));
  await page.keyboard.press('Control+a');
  await page.keyboard.type('A-4');
  await pressOn(page, page.getByRole('button', { name: 'Save and rerun' }));
  await page.getByRole('dialog').getByText('Done', { exact: true }).first().waitFor();
  // The first Escape may close the message in the corner.
  await expect
    .poll(async () => {
      await page.keyboard.press('Escape');
      return page.getByRole('dialog').count();
    })
    .toBe(0);
  await expect.poll(() => gridOf(page).getByRole('rowheader').allInnerTexts()).toEqual(['5']);
  await page.getByRole('button', { name: 'Retry 1 row…' }).waitFor();

  await pressOn(page, page.getByRole('button', { name: 'Status: Failed' }));
  await chooseInMenu(page, page.getByRole('menuitem', { name: 'Any status' }));
  await expect.poll(() => gridOf(page).getByRole('rowheader').count()).toBe(5);
  await pressOn(page, page.getByRole('button', { name: 'Export view' }));
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    chooseInMenu(page, page.getByRole('menuitem', { name: 'CSV', exact: true })),
  ]);
  const taken = await readDownload(download);
  expect(taken).toEqual(await readGrid(page));
  expect(taken.slice(1).map((row) => row[taken[0]!.indexOf('status')])).toEqual(ENDS);
  expectNoComplaints(complaints);
});
