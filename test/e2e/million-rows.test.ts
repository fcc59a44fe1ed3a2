// A job of a million rows in a real browser: any part of it is shown immediately, filters find the right rows, and
// neither the page nor its memory grows with the job.
import type { CDPSession, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { definePipeline, openRowmill, type Rowmill } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { depth, isDeep } from '../support/depth.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const ROWS = 1_000_000;
/** One of this many rows failed. */
const FAILED_EVERY = 5000;
/** Rows large enough that keeping every row ever shown would be noticed. */
const WIDE = { from: 200_000, to: 279_999, bytes: 8000 };
const WIDE_STEPS = depth(10, 30);
/** Wide rows around each step: more than the page requests. */
const WIDE_AROUND = 400;
const NODES_MAX = 3000;
/** Less than the size of all wide rows shown. */
const HEAP_GROWTH_MAX_BYTES = 40 * 1024 * 1024;

const database = useTestDatabase();
const browser = useBrowser();
const pipeline = definePipeline({ name: 'prices', phases: [{ name: 'lookup', run: () => ({ price: 1 }) }] });
let rowmill: Rowmill;
let jobId: string;

beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  // The engine creates columns, state and span; one statement each inserts the mass of rows.
  const first = [{ sku: 'sku-0', title: 'product 0' }];
  jobId = await rowmill.submit(pipeline, first, { name: 'A million', hold: true });
  await database.query(
    `insert into items (job_id, seq, input_bytes, input)
     select $1, n, 40, case when n between $3 and $4 and (n - $3 + $6::int) % $7::int < 2 * $6
         then jsonb_build_object('sku', repeat('wide ', $5::int / 5), 'title', 'product ' || n)
         else jsonb_build_object('sku', 'sku-' || n, 'title', 'product ' || n) end
     from generate_series(1, $2::int - 1) n`,
    [
      ...[jobId, ROWS, WIDE.from, WIDE.to, WIDE.bytes],
      ...[WIDE_AROUND, Math.floor((WIDE.to - WIDE.from) / WIDE_STEPS)],
    ],
  );
  await database.query(
    `insert into result_rows (job_id, seq, generation, phase, attempt, status, result, error, error_class)
     select $1, n, 1, 0, 1, (case when n % $3 = 7 then 'ERROR' else 'DONE' end)::item_status,
       case when n % $3 = 7 then null else jsonb_build_object('price', n % 100) end,
       case when n % $3 = 7 then 'no price for product ' || n end, case when n % $3 = 7 then 'permanent' end
     from generate_series(0, $2::int / 2 - 1) n`,
    [jobId, ROWS, FAILED_EVERY],
  );
  await database.query(
    `insert into ledger (job_id, entry_id, generation, phase, done, error)
     select $1, $2, 1, 0, count(*) filter (where status = 'DONE'), count(*) filter (where status = 'ERROR')
     from results where job_id = $1`,
    [jobId, newId()],
  );
  await database.query(
    `update spans set items = int8multirange(int8range($2::int / 2, $2)), item_count = $2::int / 2 where job_id = $1`,
    [jobId, ROWS],
  );
  await database.query('update jobs set item_count = $2 where job_id = $1', [jobId, ROWS]);
  await database.query(
    `insert into result_columns (job_id, generation, name, position) values ($1, 1, 'price', 0)`,
    [jobId],
  );
  await database.query('analyze items, result_rows');
});
afterAll(() => rowmill?.close());

/** The numbers of the rows in view, without those rendered above and below it. */
async function seenRows(grid: Locator): Promise<{ seqs: number[]; blank: number }> {
  return grid.evaluate((table) => {
    const view = table.getBoundingClientRect();
    const rows = [...table.querySelectorAll('[role="row"]')].slice(1).filter((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return top >= view.top && bottom <= view.bottom;
    });
    const heads = rows.map((row) => row.querySelector('[role="rowheader"]')?.textContent ?? '');
    return {
      seqs: heads.filter((text) => text !== '').map((text) => Number(text.replace(/\D/g, '')) - 1),
      blank: rows.filter((row) => !/product \d/.test(row.textContent ?? '')).length,
    };
  });
}

/** Waits until the view is full of rows; they are in place only after the frame in which the bar was moved. */
async function expectFilled(grid: Locator): Promise<number[]> {
  let seqs: number[] = [];
  const look = async (): Promise<string> => {
    const seen = await seenRows(grid);
    ({ seqs } = seen);
    return seen.seqs.length > 5 && seen.blank === 0
      ? 'full'
      : `${seen.seqs.length} rows, ${seen.blank} blank`;
  };
  await expect.poll(look).toBe('full');
  return seqs;
}

async function scrollTo(grid: Locator, part: number): Promise<void> {
  await grid.evaluate((table, to) => {
    table.scrollTop = (table.scrollHeight - table.clientHeight) * to;
  }, part);
}

async function openGrid({
  calm = false,
} = {}): Promise<{ page: Page; grid: Locator; complaints: string[]; heap: CDPSession }> {
  const api = await startTestApi(database.url, { pipelines: [pipeline] });
  const { page, complaints } = await browser.open({ calm });
  const heap = await page.context().newCDPSession(page);
  await page.goto(`${api.url}/jobs/${jobId}`);
  const grid = page.getByRole('table', { name: 'Job rows' });
  await grid.getByText('product 0', { exact: true }).waitFor();
  return { page, grid, complaints, heap };
}

/** Heap in use after a collection. */
async function heapBytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize;
}

test('any part of a million rows is shown without blank rows, and the page stays small', async () => {
  const { page, grid, complaints, heap } = await openGrid();
  expect(await grid.getAttribute('aria-rowcount')).toBe(String(ROWS + 1));
  let requests = 0;
  page.on('request', (request) => {
    if (request.url().includes('/items?')) requests += 1;
  });
  const before = await heapBytes(heap);
  for (const [part, row] of [
    [0.5, ROWS / 2],
    [1, ROWS - 1],
    [0, 0],
  ] as const) {
    await scrollTo(grid, part);
    await grid.getByText(`product ${row}`, { exact: true }).waitFor();
    const seqs = await expectFilled(grid);
    expect(seqs).toEqual(seqs.map((_, at) => seqs[0]! + at));
    expect(await page.locator('*').count()).toBeLessThan(NODES_MAX);
  }
  expect(requests).toBeLessThan(20);

  // Far more than the page keeps.
  const goTo = page.getByLabel('Go to row');
  for (let step = 0; step < WIDE_STEPS; step += 1) {
    const row = WIDE.from + Math.floor(((WIDE.to - WIDE.from) / WIDE_STEPS) * step);
    await goTo.fill(String(row + 1));
    await goTo.press('Enter');
    await grid.getByText(`product ${row}`, { exact: true }).waitFor();
    await expectFilled(grid);
  }
  expect(await page.locator('*').count()).toBeLessThan(NODES_MAX);
  if (isDeep) expect((await heapBytes(heap)) - before).toBeLessThan(HEAP_GROWTH_MAX_BYTES);

  // The wheel moves by rows, not by thousands, and skips none; also with reduced motion.
  for (const reducedMotion of ['no-preference', 'reduce'] as const) {
    await page.emulateMedia({ reducedMotion });
    await scrollTo(grid, reducedMotion === 'reduce' ? 0.25 : 0.5);
    const [first] = await expectFilled(grid);
    await grid.hover();
    await page.mouse.wheel(0, 360);
    await expect.poll(async () => (await expectFilled(grid))[0]).not.toBe(first);
    const [moved] = await expectFilled(grid);
    expect(moved! - first!).toBeGreaterThan(0);
    expect(moved! - first!).toBeLessThan(30);
  }
  // Even a short transition would show rows in their old position first.
  const durations = await page.evaluate<string[]>(
    `[...document.querySelectorAll('[role="table"] [role="presentation"]')]
      .map((rows) => getComputedStyle(rows).transitionDuration)`,
  );
  expect(durations).toEqual(['0s']);

  await goTo.fill('765433');
  await goTo.press('Enter');
  await grid.getByText('product 765432', { exact: true }).waitFor();
  await grid.focus();
  const focused = () => page.evaluate<string>('document.activeElement.getAttribute("aria-label")');
  await page.keyboard.press('Enter');
  await expect.poll(focused).toMatch(/^Open row 7654\d\d$/);
  const entered = await focused();
  await page.keyboard.press('ArrowDown');
  await expect.poll(focused).not.toBe(entered);
  const chosen = await focused();
  expect(chosen).toMatch(/^Open row 7654\d\d$/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: /^Row 7654\d\d/ }).waitFor();
  await page.keyboard.press('Escape');
  // The focus returns to the row it came from.
  await expect.poll(focused).toBe(chosen);
  expectNoComplaints(complaints);
});

test('filters on a million rows find all matches, including the last', async () => {
  const { page, grid, complaints } = await openGrid({ calm: true });
  const failed = ROWS / 2 / FAILED_EVERY;
  await page
    .getByRole('region', { name: 'Progress' })
    .getByRole('link', { name: /^Failed/ })
    .click();
  const wanted = Array.from({ length: failed }, (_, at) => at * FAILED_EVERY + 7);
  await expect.poll(async () => (await expectFilled(grid)).slice(0, 3)).toEqual(wanted.slice(0, 3));
  const found = new Set<number>();
  // Page by page to the last match.
  for (let tries = 0; found.size < failed && tries < 100; tries += 1) {
    for (const seq of await expectFilled(grid)) found.add(seq);
    await grid.evaluate((table) => {
      table.scrollTop += table.clientHeight / 2;
    });
  }
  expect([...found].sort((a, b) => a - b)).toEqual(wanted);
  await page.getByText(`${failed} matches`, { exact: true }).waitFor();

  await page.getByLabel('Search rows').fill('product 495007');
  await expect.poll(async () => (await seenRows(grid)).seqs).toEqual([495_007]);
  await page.getByText('1 match', { exact: true }).waitFor();
  expect(await page.locator('*').count()).toBeLessThan(NODES_MAX);
  expectNoComplaints(complaints);
});
