// Jobs whose rows are more than cells, in a real browser: images are small in the grid and large in the row panel, and
// rows with parents are shown as a tree.
import type { Locator } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline, fail, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { expectAccessible } from '../support/accessible.ts';
import { uploadForm } from '../support/api-pipelines.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { png, tiff } from '../support/image-writer.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { writeZip } from '../support/zip-writer.ts';

const database = useTestDatabase();
const browser = useBrowser();
const pictures = definePipeline({
  name: 'pictures',
  phases: [{ name: 'look', run: () => ({ seen: true }) }],
});

/** Every page links to three deeper ones, down to two links from the start, and the first one to 60 more. */
const crawl = definePipeline({
  name: 'crawl',
  phases: [
    {
      name: 'fetch',
      run: ({ url }, { emit }) => {
        const address = String(url);
        const depth = address.split('/').length - 3;
        const names = depth < 3 ? ['one', 'two', 'three'] : [];
        if (address === 'https://shop.example/start') for (let n = 0; n < 60; n += 1) names.push(`page-${n}`);
        for (const name of names) emit(`${address}/${name}`, { url: `${address}/${name}` });
        return address.endsWith('/two') ? fail('the page is gone') : { links: names.length };
      },
    },
  ],
});

let api: RunningApi;
let rowmill: Rowmill;
let worker: RowmillWorker | undefined;
beforeEach(async () => {
  api = await startTestApi(database.url, { pipelines: [pictures, crawl] });
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await rowmill.close();
});

/** Width and height of the image file; 0 if it is missing or cannot be shown. */
const naturalSize = (image: Locator): Promise<unknown> =>
  image.evaluate((element) => {
    const { naturalWidth, naturalHeight } = element as unknown as Record<string, number>;
    return [naturalWidth, naturalHeight];
  });

const isFocused = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => element === element.ownerDocument.activeElement);

test('images are small in the grid and large in the row panel, and formats that no browser shows are named', async () => {
  const form = uploadForm({ pipeline: 'pictures', name: 'Pictures', hold: true }, '');
  const parts = [
    ...Array.from({ length: 60 }, (_, at) => ({ name: `shelf/${at}.png`, data: png(at + 1, 20) })),
    { name: 'scan.tiff', data: tiff(10, 10, false) },
    { name: 'drawing.svg', data: '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>' },
  ];
  form.set('file', new Blob([new Uint8Array(writeZip(parts))]), 'set.zip');
  const made = await fetch(`${api.url}/api/jobs`, { method: 'POST', body: form });
  const { jobId } = (await made.json()) as { jobId: string };
  await api.context.background.whenIdle();

  const { page, complaints } = await browser.open();
  const asked = new Set<string>();
  page.on('request', (request) => {
    if (request.url().endsWith('/image')) asked.add(request.url());
  });
  await page.goto(`${api.url}/jobs/${jobId}`);
  const grid = page.getByRole('table', { name: 'Job rows' });
  const third = grid.getByRole('img', { name: 'shelf/2.png' });
  await third.waitFor();
  await expect.poll(() => naturalSize(third)).toEqual([3, 20]);
  const box = (await third.boundingBox())!;
  expect([box.width, box.height]).toEqual([28, 28]);
  // Images far below are not requested.
  expect(asked.size).toBeLessThan(55);
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Jump to last row' }).click();
  await grid.getByRole('img', { name: 'scan.tiff (no preview)' }).waitFor();
  expect(await grid.getByText('drawing.svg').count()).toBe(0);

  await page.goto(`${api.url}/jobs/${jobId}?row=41`);
  const large = page.getByRole('dialog').getByRole('img', { name: 'shelf/41.png' });
  await expect.poll(() => naturalSize(large)).toEqual([42, 20]);
  await expectAccessible(page);
  expectNoComplaints(complaints);
});

test('the tree of rows works with the mouse and by keyboard', async () => {
  worker = await rowmill.startWorker([crawl]);
  const jobId = await rowmill.submit(crawl, [
    { url: 'https://shop.example/start' },
    { url: 'https://shop.example/imprint' },
  ]);
  await whenFinished(rowmill, jobId);
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}`);
  await page.getByRole('tab', { name: 'Hierarchy' }).click();
  const tree = page.getByRole('tree', { name: 'Rows by parent' });
  const part = (name: RegExp): Locator => tree.getByRole('treeitem', { name });
  await part(/shop\.example\/start Done 63 below/).waitFor();
  expect(await tree.getByRole('treeitem').count()).toBe(2);

  // The toggle opens it, a page at a time.
  await part(/example\/imprint/)
    .locator('[data-toggle]')
    .first()
    .click();
  await part(/imprint\/two Failed/).waitFor();
  await expect.poll(() => tree.getByRole('treeitem', { level: 2 }).count()).toBe(3);
  await part(/example\/start D/)
    .locator('[data-toggle]')
    .first()
    .click();
  await part(/^Show more$/).click();
  await expect.poll(() => tree.getByRole('treeitem', { level: 2 }).count()).toBe(66);
  expect(await part(/^Show more$/).count()).toBe(0);
  await expectAccessible(page);

  // By keyboard: in, down, out again, and the row itself.
  await part(/example\/imprint D/).focus();
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => isFocused(part(/imprint\/one/).first())).toBe(true);
  await page.keyboard.press('ArrowRight');
  await part(/imprint\/one\/three/).waitFor();
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => isFocused(part(/imprint\/one\/one/))).toBe(true);
  await page.keyboard.press('ArrowLeft');
  await expect.poll(() => isFocused(part(/imprint\/one D/))).toBe(true);
  await page.keyboard.press('ArrowLeft');
  await part(/imprint\/one\/three/).waitFor({ state: 'detached' });
  await page.keyboard.press('Home');
  await expect.poll(() => isFocused(part(/example\/start D/))).toBe(true);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /^Row 1/ }).waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => isFocused(part(/example\/start D/))).toBe(true);
  await page.keyboard.press('Space');
  await expect.poll(() => tree.getByRole('treeitem', { level: 2 }).count()).toBe(3);
  // Only one tree item is a tab stop.
  expect(await tree.locator('[role="treeitem"][tabindex="0"]').count()).toBe(1);
  expectNoComplaints(complaints);
});
