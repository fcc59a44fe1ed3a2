// Triage of a job in a real browser: groups of errors are skipped or changed as a whole, rows rejected from the file
// are found, a job paused by its budget is resumed, a row shows its story, and runs are compared.
import { readFile } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { definePipeline, fail, openRowmill, type Rowmill, type RowmillWorker } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { expectAccessible } from '../support/accessible.ts';
import { send, uploadForm } from '../support/api-pipelines.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
/** Long enough for a busy machine. */
const WAIT = { timeout: 45_000 };
let rowmill: Rowmill;
let worker: RowmillWorker | undefined;
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await rowmill?.close();
});

const pipeline = definePipeline({
  name: 'shops',
  phases: [
    {
      name: 'fetch',
      cost: 1,
      run: ({ url, sku }) => {
        if (String(url).startsWith('http:')) return fail('refused http url');
        if (sku === '') return fail('no sku');
        return { fetched: url };
      },
    },
  ],
});

/** The service is busy once per row; the country is looked up in a second phase. */
const lookups = definePipeline({
  name: 'lookups',
  phases: [
    {
      name: 'fetch',
      cost: 1,
      retry: { overloaded: { baseMs: 20, capMs: 40 } },
      run: ({ sku }, { attempt, log }) => {
        log.warn('asked the shop', { status: attempt === 1 ? 503 : 200 });
        if (attempt === 1) throw Object.assign(new Error('busy'), { status: 503 });
        return { id: `id of ${String(sku)}` };
      },
    },
    {
      name: 'country',
      run: ({ country }) => {
        if (String(country).length !== 2) throw new TypeError(`unknown country ${String(country)}`);
        return { found: country };
      },
    },
  ],
});

async function start() {
  const pipelines = [pipeline, lookups];
  const api = await startTestApi(database.url, { pipelines });
  rowmill = await openRowmill({ databaseUrl: database.url });
  worker = await rowmill.startWorker(pipelines);
  return api;
}

const shops = Array.from({ length: 30 }, (_, n) => ({
  sku: n % 10 === 1 ? '' : `sku-${n}`,
  url: `${n % 3 === 0 ? 'http' : 'https'}://shop.example/${n}`,
}));

test('one change corrects all rows of a group, and another group is skipped', async () => {
  const api = await start();
  const jobId = await rowmill.submit(pipeline, shops);
  await rowmill.whenFinished(jobId);
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}?tab=errors`);
  const groups = page.getByRole('region', { name: 'Errors' }).locator('tbody tr');
  await expect.poll(() => groups.count(), WAIT).toBe(2);
  await groups
    .first()
    .getByRole('img', { name: /^Over time: at most/ })
    .waitFor();

  await page.getByRole('button', { name: /More actions for .*refused http/ }).click();
  await page.getByRole('menuitem', { name: 'Edit a field' }).click();
  const dialog = page.getByRole('dialog');
  // The field that the error names.
  await expect.poll(() => dialog.getByLabel('Field').inputValue(), WAIT).toBe('url');
  await dialog.getByLabel('Action', { exact: true }).selectOption('replace');
  await dialog.getByLabel('Find').fill('http:');
  await dialog.getByLabel('Replace with').fill('https:');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText('10 of 10 rows will change.').waitFor();
  await dialog.getByText('https://shop.example/3', { exact: true }).waitFor();
  await dialog.getByText('Estimated cost ≈ 10').waitFor();
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Apply and retry 10 rows' }).click();
  // Row 21 had both errors: now it is in the other group.
  await page.getByText('Retrying 10 edited rows').first().waitFor();
  await rowmill.whenFinished(jobId);
  await expect.poll(() => groups.count(), WAIT).toBe(1);
  await groups.getByRole('cell', { name: '3', exact: true }).waitFor();

  await page.getByRole('button', { name: /More actions for .*no sku/ }).click();
  await page.getByRole('menuitem', { name: 'Skip…' }).click();
  await dialog.getByLabel('Reason').fill('not sold any more');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Skip 3 rows' }).click();
  await page.getByText('3 rows skipped').first().waitFor();
  await page.getByRole('heading', { name: 'No errors' }).waitFor();
  await rowmill.whenFinished(jobId);
  const { counts } = (await rowmill.progress(jobId))!;
  expect(counts).toMatchObject({ DONE: 27, SKIPPED: 3, ERROR: 0 });
  await page.goto(`${api.url}/jobs/${jobId}?row=1`);
  await page.getByRole('dialog').getByText('not sold any more').first().waitFor();
  expectNoComplaints(complaints);
});

test('several groups are examined, retried and skipped at once', async () => {
  const api = await start();
  const rows = Array.from({ length: 12 }, (_, n) => ({
    sku: `s${n}`,
    country: n % 3 === 0 ? 'Spain' : 'ES',
  }));
  rows[1]!.country = 'constructor';
  const jobId = await rowmill.submit(lookups, rows);
  await rowmill.whenFinished(jobId);
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}?tab=errors`);
  const errors = page.getByRole('region', { name: 'Errors' });
  await page.getByText('3 groups: 5 failed').waitFor();
  await errors.getByRole('cell', { name: '80 %' }).waitFor();
  await errors.getByText('Developer: pipeline').first().waitFor();
  await errors.getByText('Operator: service or limits').waitFor();
  await errors.getByRole('button', { name: 'unknown country name' }).click();
  await expect
    .poll(() => errors.getByRole('list', { name: 'Examples' }).getByRole('listitem').count(), WAIT)
    .toBe(4);
  await errors.getByText('Stack').click();
  await errors.getByText(/at Object\.run/).waitFor();
  await expectAccessible(page);

  // The group of attempts that were retried has no rows to act on.
  await page.getByLabel('Select all shown errors').check();
  const bar = page.getByRole('group', { name: 'Actions on selected errors' });
  await bar.getByText('2 groups selected, 5 rows').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    bar.getByRole('link', { name: 'Download rows' }).click(),
  ]);
  expect((await readFile(await download.path(), 'utf8')).trimEnd().split(/\r?\n/)).toHaveLength(6);
  await bar.getByRole('button', { name: 'Retry…', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Include permanent failures').click();
  await dialog.getByRole('button', { name: 'Retry 5 rows' }).click();
  await page.getByText('Retrying 5 rows').first().waitFor();
  await rowmill.whenFinished(jobId);
  await page.getByRole('tab', { name: 'Runs 2' }).waitFor();
  await expect.poll(() => bar.getByRole('button', { name: 'Skip…' }).isEnabled(), WAIT).toBe(true);
  await bar.getByRole('button', { name: 'Skip…' }).click();
  await dialog.getByLabel('Reason').fill('not sold there');
  await dialog.getByRole('button', { name: 'Skip 5 rows' }).click();
  await page.getByText('5 rows skipped').first().waitFor();
  await rowmill.whenFinished(jobId);
  expect((await rowmill.progress(jobId))!.counts).toMatchObject({ DONE: 7, SKIPPED: 5, ERROR: 0 });
  expectNoComplaints(complaints);
});

test('rejected rows are counted, listed and downloaded', async () => {
  const api = await start();
  const lines = Array.from({ length: 130 }, (_, n) =>
    n % 2 === 0 ? `a-${n},https://x` : `a-${n},b,<b>c</b>,d`,
  );
  const upload = uploadForm({ pipeline: 'shops' }, `sku,url\n${lines.join('\n')}\n`);
  const { jobId } = (await send(api.url, 'POST', '/api/jobs', upload)).body;
  await rowmill.whenFinished(jobId);
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}`);
  await page.getByRole('link', { name: "65 lines couldn't be read" }).click();
  const table = page.getByRole('region', { name: 'Unreadable lines' });
  await table.getByText('a-1,b,<b>c</b>,d').waitFor();
  expect(await table.getByRole('rowheader').first().textContent()).toBe('3');
  expect(await table.getByRole('rowheader').count()).toBe(65);
  await expectAccessible(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download as CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/rejected\.csv$/);
  const saved = (await readFile(await download.path(), 'utf8')).trimEnd().split(/\r?\n/);
  expect(saved).toHaveLength(66);
  expect(saved[0]).toBe('line,reason,raw');

  await database.query(
    `insert into error_groups (job_id, generation, phase, signature, error_class, sample, sample_seq, occurrences, failed)
     select $1, 1, 0, 'group ' || n, case when n > 40 then 'not_found' else 'permanent' end, 'shop ' || n || ' is closed', n, 300, 1 from generate_series(1, 60) n`,
    [jobId],
  );
  await database.query(
    'insert into ledger (job_id, entry_id, generation, phase, error, not_found) values ($1, $2, 1, 0, 40, 20)',
    [jobId, newId()],
  );
  await page.goto(`${api.url}/jobs/${jobId}?tab=errors`);
  await page
    .getByText('50 of 60 groups, the largest first: 40 failed, 20 not found', { exact: true })
    .waitFor();
  // Failed rows only: rows that were not found did not fail.
  await page.getByRole('tab', { name: 'Errors 40', exact: true }).waitFor();
  const groups = page.getByRole('region', { name: 'Errors' }).locator('tbody tr');
  expect(await groups.count()).toBe(50);
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByText('60 groups: 40 failed, 20 not found', { exact: true }).waitFor();
  expect(await groups.count()).toBe(60);
  await page.getByLabel('Search errors').fill('Shop 59');
  await page.getByText('1 group: 1 not found', { exact: true }).waitFor();
  expect(await groups.count()).toBe(1);
  await expectAccessible(page);
  expectNoComplaints(complaints);
});

test('a job paused by its budget gets more and resumes', async () => {
  const api = await start();
  const rows = Array.from({ length: 8 }, (_, n) => ({ sku: `s${n}`, url: 'https://x' }));
  const jobId = await rowmill.submit(pipeline, rows, { budget: { max: 3 } });
  await expect.poll(async () => (await rowmill.job(jobId))!.state, WAIT).toBe('PAUSED');
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}`);
  await page.getByRole('button', { name: 'Increase budget' }).click();
  const whole = page.getByLabel('Job budget (all runs)');
  expect(await whole.inputValue()).toBe('3');
  await whole.fill('lots');
  await page.getByText('Enter an amount, e.g. 12.50').waitFor();
  expect(await page.getByRole('button', { name: 'Save and resume' }).isDisabled()).toBe(true);
  await whole.fill('20');
  await page.getByText('Allows 17 more.').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save and resume' }).click();
  await rowmill.whenFinished(jobId);
  await page.getByText('Finished', { exact: true }).waitFor();
  const audit = await database.query<{ action: string }>(
    `select action from audit where subject = $1 order by audit_id`,
    [`job ${jobId}`],
  );
  expect(audit.map(({ action }) => action)).toEqual(expect.arrayContaining(['job.change', 'job.resume']));
  expectNoComplaints(complaints);
});

test('a row tells its story, is copied as a fixture and walked among its matches', async () => {
  const api = await start();
  const rows = Array.from({ length: 9 }, (_, n) => ({ sku: `s${n}`, country: n % 4 === 2 ? 'Spain' : 'ES' }));
  const jobId = await rowmill.submit(lookups, rows);
  await rowmill.whenFinished(jobId);
  const { page, complaints } = await browser.open();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${api.url}/jobs/${jobId}?statuses=ERROR&row=2`);
  const drawer = page.getByRole('dialog', { name: /^Row 3/ });
  const story = drawer.getByRole('region', { name: 'Timeline' });
  await story.getByText('fetch, attempt 1: failed, retried').waitFor();
  await story.getByText(/^Waited .*: retry delay$/).waitFor();
  await story.getByText('fetch, attempt 2: passed on').waitFor();
  await story.getByText('country, attempt 1: failed', { exact: true }).waitFor();
  await story.getByText('unknown country Spain').first().waitFor();
  await story.getByText('status 503').waitFor();
  await story.getByText('Stack').first().click();
  await expectAccessible(page);

  await drawer.getByRole('button', { name: 'Copy as fixture' }).click();
  const fixture = JSON.parse(await page.evaluate<string>('navigator.clipboard.readText()'));
  expect(fixture).toMatchObject({ pipeline: 'lookups', row: { sku: 's2', country: 'Spain' } });

  await page.getByRole('button', { name: 'Next matching row' }).click();
  await page.getByRole('dialog', { name: /^Row 7/ }).waitFor();
  await expect
    .poll(() => page.getByRole('button', { name: 'Next matching row' }).isDisabled(), WAIT)
    .toBe(true);
  await page.getByRole('button', { name: 'Previous matching row' }).click();
  await drawer.waitFor();

  // Sorted by country, Spain first: rows 3 and 7, then the others in the order of the file.
  await page.goto(`${api.url}/jobs/${jobId}?sort=-input:country&row=6`);
  await page.getByRole('dialog', { name: /^Row 7/ }).waitFor();
  await page.getByRole('button', { name: 'Next row', exact: true }).click();
  await page.getByRole('dialog', { name: /^Row 1/ }).waitFor();
  await page.getByRole('button', { name: 'Previous row', exact: true }).click();
  await page.getByRole('dialog', { name: /^Row 7/ }).waitFor();
  await page.getByRole('button', { name: 'Previous row', exact: true }).click();
  await drawer.waitFor();

  await drawer.getByRole('button', { name: 'Edit & rerun' }).click();
  await drawer.getByLabel('country').fill('ES');
  await drawer.getByRole('button', { name: 'Save and rerun' }).click();
  await page.getByText('Rerunning row 3').first().waitFor();
  await rowmill.whenFinished(jobId);
  await story.getByText('Input edited').waitFor();
  await story.getByText('country, attempt 1: completed').waitFor();
  await story.getByRole('heading', { name: 'Run 2' }).waitFor();
  await drawer.getByRole('button', { name: 'Rerun as is' }).click();
  await story.getByRole('heading', { name: 'Run 3' }).waitFor();
  await rowmill.whenFinished(jobId);
  await expectAccessible(page);
  expectNoComplaints(complaints);
});

test('two runs are compared cell by cell, and every number shows its rows', async () => {
  const api = await start();
  const rows = Array.from({ length: 6 }, (_, n) => ({ sku: `s${n}`, country: n === 2 ? 'Spain' : 'ES' }));
  const jobId = await rowmill.submit(lookups, rows);
  await rowmill.whenFinished(jobId);
  const edits = [
    { seq: 2, input: { sku: 's2', country: 'ES' } },
    { seq: 3, input: { sku: 's3', country: 'PT' } },
    { seq: 4, input: { sku: 's4', country: 'Portugal' } },
    { seq: 5, input: { sku: 's5b', country: 'ES' } },
  ];
  await rowmill.reprocess(jobId, { edits });
  await rowmill.whenFinished(jobId);
  const { page, complaints } = await browser.open();
  await page.goto(`${api.url}/jobs/${jobId}?tab=generations`);
  await page.getByRole('link', { name: '1 Different result' }).click();
  const table = page.getByRole('region', { name: 'Compared rows' });
  await table.getByRole('link', { name: 'row 4' }).waitFor();
  await table.getByRole('cell', { name: 'found', exact: true }).waitFor();
  await table.getByRole('deletion').getByText('ES').waitFor();
  await table.getByRole('insertion').getByText('PT').waitFor();
  expect(await table.getByRole('link').count()).toBe(1);
  await expectAccessible(page);

  const comparison = page.getByRole('region', { name: 'Run 1 and run 2' });
  const failed = comparison.getByRole('link', { name: '1 Newly failed' });
  expect(await failed.getAttribute('href')).toContain('change=newlyFailed');
  await failed.click();
  await table.getByText('unknown country Portugal').waitFor();
  await failed.click();
  await expect.poll(() => table.getByRole('link').allInnerTexts(), WAIT).toEqual(['row 3', 'row 4', 'row 5']);
  await expectAccessible(page);
  await table.getByRole('link', { name: 'row 3' }).click();
  await page
    .getByRole('dialog', { name: /^Row 3/ })
    .getByText('Input edited')
    .waitFor();
  expectNoComplaints(complaints);
});
