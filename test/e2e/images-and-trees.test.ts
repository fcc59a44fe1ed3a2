// Jobs whose rows are more than cells, in a real browser: pictures are shown small in the grid and large beside it, and rows
// that came from others are shown as a tree.
import { AxeBuilder } from '@axe-core/playwright';
import type { Locator, Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { uploadForm } from '../support/api-pipelines.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { png, tiff } from '../support/image-writer.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { writeZip } from '../support/zip-writer.ts';

const database = useTestDatabase();
const browser = useBrowser();
const pictures = definePipeline({
  name: 'pictures',
  phases: [{ name: 'look', run: () => ({ seen: true }) }],
});

let api: RunningApi;
let rowmill: Rowmill;
let worker: RowmillWorker | undefined;
beforeEach(async () => {
  api = await startTestApi(database.url, { pipelines: [pictures] });
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await rowmill.close();
});

async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
}

/** Width and height of the picture itself; 0: it is not there, or cannot be shown. */
const naturalSize = (image: Locator): Promise<unknown> =>
  image.evaluate((element) => {
    const { naturalWidth, naturalHeight } = element as unknown as Record<string, number>;
    return [naturalWidth, naturalHeight];
  });

test('images are shown small in the grid, large beside it, and those that no browser shows as a sign', async () => {
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
  const grid = page.getByRole('table', { name: 'Rows of the job' });
  const third = grid.getByRole('img', { name: 'shelf/2.png' });
  await third.waitFor();
  await expect.poll(() => naturalSize(third)).toEqual([3, 20]);
  const box = (await third.boundingBox())!;
  expect([box.width, box.height]).toEqual([28, 28]);
  // Those far below are not asked for.
  expect(asked.size).toBeLessThan(55);
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Go to the last row' }).click();
  await grid.getByRole('img', { name: 'scan.tiff, which cannot be shown' }).waitFor();
  expect(await grid.getByText('drawing.svg').count()).toBe(0);

  await page.goto(`${api.url}/jobs/${jobId}?row=41`);
  const large = page.getByRole('dialog').getByRole('img', { name: 'shelf/41.png' });
  await expect.poll(() => naturalSize(large)).toEqual([42, 20]);
  await expectAccessible(page);
  expectNoComplaints(complaints);
});
