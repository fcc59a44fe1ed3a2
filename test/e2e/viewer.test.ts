// A user with read-only access, on every screen of the page: the server refuses none of the visible controls, and the
// additional controls of a team member are those that it would refuse to a viewer.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page, Request } from 'playwright-core';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { createClient } from '../../src/client/create-client.ts';
import {
  defineCounter,
  definePipeline,
  notFound,
  openRowmill,
  type Rowmill,
  retryLater,
} from '../../src/index.ts';
import { whenLoaded } from '../support/accessible.ts';
import { addTeam, addUser, keyHeaders, sessionHeaders } from '../support/account-factory.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { isDeep } from '../support/depth.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const HOUR_MS = 3_600_000;
const database = useTestDatabase();
const browser = useBrowser();
const sold = defineCounter({ name: 'sold', scope: 'shop', entity: 'sku', measures: ['pieces'] });
const pipeline = definePipeline({
  name: 'prices',
  counters: [sold],
  resources: { shop: { concurrency: 4 } },
  phases: [
    {
      name: 'lookup',
      resources: ['shop'],
      run: ({ sku }, { count }) => {
        if (sku === 'busy') return retryLater({ afterMs: HOUR_MS });
        if (sku === 'gone') return notFound('not sold any more');
        count(sold, { scope: 'north', entity: String(sku) }, { pieces: 1 });
        return { price: 1 };
      },
    },
  ],
});

let api: RunningApi;
const ids = { finished: '', waiting: '', trial: '', webhook: '' };

beforeAll(async () => {
  await addTeam(database, '@crew');
  await addUser(database, 'vera', { role: 'viewer', teamId: '@crew' });
  await addUser(database, 'mia', { role: 'member', teamId: '@crew' });
});
beforeEach(async () => {
  api = await startTestApi(database.url, {
    pipelines: [pipeline],
    sources: [
      {
        name: 'inbox',
        kind: 'folder',
        pipeline: 'prices',
        path: mkdtempSync(join(tmpdir(), 'rowmill-viewer-')),
        owner: '@crew',
      },
    ],
    settings: { authentication: 'password', pendingDashboard: 'on', webhookAllow: '127.0.0.0/8' },
  });
  if (ids.finished !== '') return;
  const rowmill = await openRowmill({ databaseUrl: database.url });
  try {
    await makeThings(rowmill);
  } finally {
    await rowmill.close();
  }
});

/** One finished job with failures and rejected rows, one with a row that waits for a retry, one in its test run. */
async function makeThings(rowmill: Rowmill): Promise<void> {
  const headers = await keyHeaders(database, 'mia', ['read', 'write']);
  const client = createClient({ baseUrl: api.url, headers });
  const file = new File(['sku,shop\na-1,north\ngone,north\nb,c,d,e\n'], 'prices.csv');
  ids.finished = (await client.upload(file, { pipeline: 'prices' })).jobId;
  const submit = (name: string, rows: { sku: string }[], trial?: number) =>
    rowmill.submit(pipeline, rows, { name, ownerId: '@crew', ...(trial !== undefined && { trial }) });
  ids.waiting = await submit('Waiting', [{ sku: 'busy' }]);
  ids.trial = await submit('Trial', [{ sku: 'a' }, { sku: 'b' }], 1);
  const worker = await rowmill.startWorker([pipeline]);
  try {
    await rowmill.whenFinished(ids.finished);
    await expect.poll(async () => (await rowmill.progress(ids.trial))!.counts.DONE).toBe(1);
    await expect.poll(async () => (await client.getJob({ jobId: ids.waiting })).retrying).toBe(1);
    await expect.poll(() => database.query('select 1 from counters')).toHaveLength(1);
  } finally {
    await worker.stop();
  }
  const made = await client.createWebhook({ url: 'http://127.0.0.1:9/', kinds: ['job.finished'] });
  ids.webhook = made.webhookId;
}

/** Functions, because the ids are known only when a test runs. */
const SCREENS: Readonly<Record<string, () => string[]>> = {
  'the jobs': () => ['/jobs', '/jobs/new', `/jobs/${ids.trial}?overview=true`],
  'the rows of a job': () => [`/jobs/${ids.finished}?overview=true`, `/jobs/${ids.finished}?row=1`],
  'the parts of a job': () =>
    ['errors', 'rejected', 'files', 'generations', 'activity', 'tree', 'pending'].map(
      (tab) => `/jobs/${ids.finished}?tab=${tab}`,
    ),
  'what is pending, workers and resources': () => [
    `/jobs/${ids.waiting}?tab=pending`,
    '/pending',
    '/workers',
    '/resources',
    '/overview',
    '/pipelines',
    '/cost',
  ],
  'counters and webhooks': () => ['/counters', '/counters/sold', '/webhooks', `/webhooks/${ids.webhook}`],
  settings: () =>
    ['account', 'keys', 'people', 'owners', 'sources', 'audit', 'server'].map(
      (tab) => `/settings?tab=${tab}`,
    ),
  'links of an administrator': () =>
    ['/jobs', '/overview', '/pending', '/counters', '/webhooks'].map((path) => `${path}?all=true`),
};
const EVERYWHERE = Object.entries(SCREENS);

interface Walker {
  page: Page;
  complaints: string[];
  refused: string[];
  /** Names of the controls that were used. */
  used: Set<string>;
  show(path: string): Promise<void>;
  settle(): Promise<void>;
}

async function openAs(
  who: { userId: string } | { headers: Record<string, string> },
  used: Iterable<string> = [],
): Promise<Walker> {
  const { page, complaints } = await browser.open({ calm: true });
  if ('userId' in who) {
    const { cookie } = await sessionHeaders(database, who.userId);
    const [name, value] = cookie.split('=') as [string, string];
    await page.context().addCookies([{ name, value, url: api.url }]);
  } else await page.context().setExtraHTTPHeaders(who.headers);
  await page.addInitScript('window.print = () => {}');
  const refused: string[] = [];
  const underWay = new Set<Request>();
  // The event stream never ends.
  page.on('request', (request) => !request.url().includes('/api/v1/events') && underWay.add(request));
  page.on('requestfinished', (request) => underWay.delete(request));
  page.on('requestfailed', (request) => underWay.delete(request));
  page.on('response', (response) => {
    if (response.status() === 403) refused.push(`${response.request().method()} ${response.url()}`);
  });
  const settle = () => expect.poll(() => underWay.size).toBe(0);
  return {
    page,
    complaints,
    refused,
    used: new Set(used),
    settle,
    async show(path) {
      await page.goto(api.url + path);
      await page.getByRole('heading').first().waitFor();
      // The dialog covers the screen.
      if (path.includes('row=')) await page.getByRole('dialog').waitFor();
      await whenLoaded(page);
      await settle();
    },
  };
}

/** Buttons, checkboxes and downloads of the screen, or of the dialog that covers it. */
async function controls(page: Page): Promise<Locator> {
  const place = (await page.getByRole('dialog').count()) > 0 ? '[role=dialog]' : 'main';
  return page.locator(
    ['button', 'input[type=checkbox]', 'a[download]']
      .map((kind) => `${place} ${kind}:visible:not(:disabled):not(:text-is("Sign out"))`)
      .join(', '),
  );
}

/** There is one for each column or row. */
const OF_EACH = /^(Column options:|Open row|Select row) .*/;

async function namesOf(page: Page): Promise<string[]> {
  const names = await (await controls(page)).evaluateAll((found) =>
    found.map((each) => each.getAttribute('aria-label') ?? each.textContent ?? ''),
  );
  return names.map((name) => name.replace(/\s+/g, ' ').trim());
}

/**
 * Uses every control of the screen and its menus, each from a fresh state, and returns their names. Controls shared by
 * screens, columns or rows are used once; in the deep lane on each.
 */
async function useAll({ page, show, settle, used }: Walker, path: string): Promise<string[]> {
  await show(path);
  const address = page.url();
  const names = await namesOf(page);
  for (const [at, name] of names.entries()) {
    const kind = name.replace(OF_EACH, '$1');
    if (!isDeep && kind !== '' && used.has(kind)) continue;
    used.add(kind);
    const control = (await controls(page)).nth(at);
    // The screen has fewer controls now, because the job changed meanwhile.
    if ((await control.count()) === 0) break;
    if ((await control.getAttribute('download')) !== null) {
      const file = new URL(String(await control.getAttribute('href')), api.url);
      const answer = await page.request.get(file.href);
      expect(answer.status(), file.pathname).toBe(200);
      continue;
    }
    await control.click();
    const inMenu = await page.getByRole('menuitem').count();
    for (let item = 0; item < inMenu; item += 1) {
      if (item > 0) await control.click();
      const entry = page.getByRole('menuitem').nth(item);
      if ((await entry.getAttribute('aria-disabled')) === null) await entry.click();
      else await page.keyboard.press('Escape');
    }
    await settle();
    const isAsBefore = async () => page.url() === address && (await namesOf(page)).join() === names.join();
    if (await isAsBefore()) continue;
    // Escape closes dialogs and menus; other changes need a reload.
    await page.keyboard.press('Escape');
    if (!(await isAsBefore())) await show(path);
  }
  return names;
}

/** Controls used in walks that passed: a retried walk uses its controls again. */
let usedByVera: ReadonlySet<string> = new Set();
/** Names of the controls of a viewer, by the path of the screen. */
const offeredToVera = new Map<string, string[]>();

test.each(EVERYWHERE)('a viewer is offered nothing that is refused: %s', async (_, screens) => {
  const viewer = await openAs({ userId: 'vera' }, usedByVera);
  const offered = new Map<string, string[]>();
  for (const path of screens()) offered.set(path, await useAll(viewer, path));
  expect([...offered.values()].flat().length).toBeGreaterThan(0);
  expect(viewer.refused).toEqual([]);
  expectNoComplaints(viewer.complaints);
  usedByVera = viewer.used;
  for (const [path, names] of offered) offeredToVera.set(path, names);
});

test('a viewer can create keys with only the scopes a viewer may have', async () => {
  const { page, show, refused } = await openAs({ userId: 'vera' });
  await show('/settings?tab=keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('all that there is');
  for (const box of await page.getByRole('dialog').getByRole('checkbox').all()) await box.check();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('API key', { exact: true }).waitFor();
  expect(refused).toEqual([]);
});

const FOR_KEYS = EVERYWHERE.filter(([words]) =>
  (isDeep ? /job|webhooks|settings/ : /rows of a job|webhooks/).test(words),
);
test.each(FOR_KEYS)('with a read-only key nothing is refused either: %s', async (_, screens) => {
  const reader = await openAs({ headers: await keyHeaders(database, 'mia', ['read']) }, usedByVera);
  for (const path of screens()) await useAll(reader, path);
  expect(reader.refused).toEqual([]);
  expectNoComplaints(reader.complaints);
});

test("a member's additional controls are exactly those that the server refuses to viewers", async () => {
  const [viewer, member] = [await openAs({ userId: 'vera' }), await openAs({ userId: 'mia' })];
  const besides = new Set<string>();
  const offeredTo = async ({ page, show }: Walker, path: string): Promise<string[]> => {
    await show(path);
    const row = page.getByRole('checkbox', { name: /^Select row [12]$/ }).first();
    if (path.includes('overview') && (await row.count()) > 0) await row.check();
    return namesOf(page);
  };
  for (const path of EVERYWHERE.flatMap(([, screens]) => screens())) {
    // The walks have seen the screens, without a selected row and before they generated files.
    const seen = /overview=|tab=files/.test(path) ? undefined : offeredToVera.get(path);
    const less = seen ?? (await offeredTo(viewer, path));
    for (const name of await offeredTo(member, path))
      if (name !== '' && !less.includes(name)) besides.add(name);
  }
  expect([...besides].toSorted()).toEqual([
    'Browse files',
    'Cancel',
    'Delete',
    'Disable',
    'Edit',
    'Edit & rerun',
    'New alert',
    'Pause',
    'Process now',
    'Rerun as is',
    'Rerun…',
    'Retry 1 row…',
    'Retry all now',
    'Revoke test',
    'Rotate secret',
    'Run remaining 1 row',
    'Select Trial',
    'Select Waiting',
    'Select all shown',
    'Select prices.csv',
    'Select row 1',
    'Select row 1 of Waiting',
    'Send a test',
    'Set a budget',
    'Use this file',
  ]);
});
