// The Counters screens in a real browser: numbers update while a worker counts, lists are searched, sorted and paged,
// and the view is part of the address. Checked by axe in light and dark colours.
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { RunningApi } from '../../src/api/start-api.ts';
import {
  defineCounter,
  definePipeline,
  openRowmill,
  type Rowmill,
  type RowmillWorker,
} from '../../src/index.ts';
import { expectAccessible } from '../support/accessible.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { isDeep } from '../support/depth.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();

const annotations = defineCounter({
  name: 'annotations',
  scope: 'project',
  entity: 'document',
  measures: ['denotations', 'relations'],
});
const pipeline = definePipeline({
  name: 'annotate',
  input: z.object({ project: z.string(), document: z.string(), denotations: z.number() }),
  counters: [annotations],
  outputs: [],
  phases: [
    {
      name: 'count',
      run: ({ project, document, denotations }, { count }) => {
        count(annotations, { scope: project, entity: document }, { denotations, relations: 1 });
        return {};
      },
    },
  ],
});

let api: RunningApi;
let rowmill: Rowmill;
let worker: RowmillWorker;
beforeEach(async () => {
  api = await startTestApi(database.url, { pipelines: [pipeline], settings: { streamProgressMs: 50 } });
  rowmill = await openRowmill({ databaseUrl: database.url, settings: { pollMaxMs: 100 } });
  worker = await rowmill.startWorker([pipeline], { log: silentLogger });
});
afterEach(async () => {
  await worker.stop();
  await rowmill.close();
  await database.query(
    'truncate counters, counter_entries, counter_entities, counter_scopes, counter_scope_deltas, counter_contributions',
  );
});

async function count(rows: { project: string; document: string; denotations: number }[]): Promise<void> {
  await rowmill.whenFinished(await rowmill.submit(pipeline, rows));
}

/** 60 documents, every third of them in two projects. */
const ROWS = Array.from({ length: 80 }, (_, n) => ({
  project: n < 60 ? 'a/b' : 'other',
  document: `doc ${String(n < 60 ? n : (n - 60) * 3).padStart(2, '0')}`,
  denotations: (n * 7) % 60,
}));

/** Polls long enough for a busy machine. */
const eventually = <T>(look: () => Promise<T> | T) => expect.poll(look, { timeout: 45_000 });

const rowNames = (page: Page): Promise<string[]> => page.getByRole('rowheader').allTextContents();

test('without counters the screen explains how to define one, and shows the first one without a reload', async () => {
  await worker.stop();
  await database.query('truncate counters');
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs`);
  await page.getByRole('link', { name: 'Counters' }).click();
  await page.getByRole('heading', { name: 'No counters yet' }).waitFor();
  await page.getByText('defineCounter').first().waitFor();
  worker = await rowmill.startWorker([pipeline], { log: silentLogger });
  await count([{ project: 'p', document: 'd', denotations: 4 }]);
  await page.getByRole('link', { name: 'annotations' }).waitFor();
  await page.getByRole('row', { name: /annotations.*4 denotations.*1 relations/ }).waitFor();
  expectNoComplaints(complaints);
});

test('numbers change while a worker counts, in totals and in rows, without a reload', async () => {
  await count([{ project: 'a/b', document: '../x?y', denotations: 3 }]);
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/counters/annotations`);
  const line = page.getByRole('row', { name: /\.\.\/x\?y/ });
  await eventually(() => line.getByRole('cell').first().textContent()).toBe('3');
  await page.evaluate('window.notReloaded = true');
  await count([{ project: 'other', document: '../x?y', denotations: 1234 }]);
  await page.getByRole('definition').filter({ hasText: '1,237' }).waitFor();
  await eventually(() => line.getByRole('cell').first().textContent()).toBe('1,237');
  await page.getByRole('link', { name: '../x?y' }).click();
  await page.getByRole('heading', { name: '../x?y', level: 1 }).waitFor();
  await eventually(() => rowNames(page)).toEqual(['a/b', 'other']);
  await count([{ project: 'other', document: '../x?y', denotations: 1 }]);
  await page.getByRole('definition').filter({ hasText: '1,238' }).waitFor();
  await eventually(() =>
    page.getByRole('row', { name: /other/ }).getByRole('cell').first().textContent(),
  ).toBe('1,235');
  expect(await page.evaluate('window.notReloaded')).toBe(true);
  expectNoComplaints(complaints);
});

test('documents are paged, searched and sorted, a document lists its projects and a project its documents', async () => {
  await count(ROWS);
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/counters/annotations`);
  await eventually(async () => (await rowNames(page)).length).toBe(50);
  await page.getByRole('button', { name: 'Show more' }).click();
  await eventually(async () => (await rowNames(page)).length).toBe(60);
  const names = await rowNames(page);
  expect(names).toEqual(names.toSorted());

  await page.getByRole('button', { name: 'Sort by denotations' }).click();
  await page.waitForURL(/sortBy=denotations/);
  const sums = new Map<string, number>();
  for (const { document, denotations } of ROWS) sums.set(document, (sums.get(document) ?? 0) + denotations);
  const byValue = [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([name]) => name);
  await eventually(async () => (await rowNames(page)).slice(0, 50)).toEqual(byValue.slice(0, 50));
  await page.getByRole('button', { name: 'Sort by denotations, sorted descending' }).click();
  await page.waitForURL(/order=asc/);
  await eventually(async () => sums.get((await rowNames(page))[0]!)).toBe(Math.min(...sums.values()));

  await page.getByLabel('Filter by prefix').fill('doc 1');
  await page.waitForURL(/prefix=doc/);
  await eventually(async () => (await rowNames(page)).length).toBe(10);
  // The selection is part of the address.
  await page.reload();
  await eventually(async () => (await rowNames(page)).length).toBe(10);
  expect(await page.getByLabel('Filter by prefix').inputValue()).toBe('doc 1');

  await page.getByRole('link', { name: 'doc 12' }).click();
  await page.getByRole('heading', { name: 'doc 12', level: 1 }).waitFor();
  await eventually(() => rowNames(page)).toEqual(['a/b', 'other']);
  await page.getByRole('link', { name: 'other' }).click();
  await page.getByRole('heading', { name: 'other', level: 1 }).waitFor();
  await eventually(async () => (await rowNames(page)).length).toBe(20);
  await page.goBack();
  await page.getByRole('heading', { name: 'doc 12', level: 1 }).waitFor();
  expectNoComplaints(complaints);
});

test('every action works by keyboard', async () => {
  await count([{ project: 'a/b', document: 'only', denotations: 3 }]);
  const { page } = await browser.open();
  await page.goto(`${api.url}/jobs`);
  await page
    .getByRole('heading', { name: 'No jobs yet' })
    .or(page.getByRole('heading', { name: 'Jobs', exact: true }))
    .first()
    .waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.getByRole('link', { name: 'annotations' }).press('Enter');
  await page.getByRole('button', { name: 'By project' }).press('Enter');
  await page.getByRole('link', { name: 'a/b' }).press('Enter');
  await page.getByRole('heading', { name: 'a/b', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Sort by relations' }).press('Space');
  await page.getByRole('button', { name: 'Sort by relations, sorted descending' }).waitFor();
  await page.getByRole('link', { name: 'only' }).press('Enter');
  await page.getByRole('heading', { name: 'only', level: 1 }).waitFor();
});

const PATHS = [
  '',
  '/annotations',
  '/annotations?list=scopes',
  '/annotations?entity=doc%2012',
  '/annotations?scope=a%2Fb',
];

for (const dark of isDeep ? [false, true] : [false])
  test(`axe finds no violation in ${dark ? 'dark' : 'light'} colours, and nothing is wider than a phone`, async () => {
    const { page, complaints } = await browser.open({ dark, width: 390 });
    await database.query('truncate counters');
    await page.goto(`${api.url}/counters`);
    await page.getByRole('heading', { name: 'No counters yet' }).waitFor();
    await expectAccessible(page, { colorsOnly: dark });
    await worker.stop();
    worker = await rowmill.startWorker([pipeline], { log: silentLogger });
    await count(ROWS);
    for (const path of PATHS) {
      await page.goto(`${api.url}/counters${path}`);
      await page.getByRole('rowheader').first().waitFor();
      await expectAccessible(page, { colorsOnly: dark });
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(390);
    }
    await page.goto(`${api.url}/counters/missing`);
    await expectAccessible(page, { colorsOnly: dark });
    expectNoComplaints(complaints);
  });
