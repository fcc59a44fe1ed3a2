// The list of screenshots: screen, width, colours, and the actions before the shot.
import type { Page } from 'playwright-core';
import type { WindowOptions } from '../support/launch-browser.ts';
import type { ShownServer } from './start-shown-server.ts';

const PHONE = 390;

export interface Shot extends WindowOptions {
  name: string;
  path: string;
  as?: 'ada' | 'ben';
  /** Runs after the page has settled. */
  act?: (page: Page) => Promise<void>;
}

/** A typical uploaded file: other names, a missing number, a quantity in words. */
const MESSY_CSV = [
  'Article;Title;Brand;Quantiy;Remark',
  '001-0000017;"27"" monitor, grün";Tanaka;4;',
  '002-0000018;Bücherregal;Nordlicht;12;"ask for ""the blue one"""',
  ';kettle, stainless steel;Bosch;3;no number yet',
  '004-0000020;office chair;Acme, Inc.;two;',
  '005-0000021;USB cable 2 pack;LUMA;250;',
  '006-0000022;desk lamp;Müller & Söhne;1;sold out?',
].join('\r\n');

async function dropMessyFile(page: Page): Promise<void> {
  const file = { name: 'order-list.csv', mimeType: 'text/csv', buffer: Buffer.from(MESSY_CSV) };
  await page.getByLabel('File to upload').setInputFiles(file);
  await page.getByLabel('sku', { exact: false }).first().selectOption('Article');
  await page.getByLabel('quantity', { exact: false }).first().selectOption('Quantiy');
  await page.getByText(/Checked (all|the first)/).waitFor();
}

export function shotsOf({
  jobs: { running, done, images, crawl, budget, queued, trial, refused },
  webhookId,
}: ShownServer): Shot[] {
  return [
    { name: 'overview', path: '/overview?all=true' },
    { name: 'overview-dark', path: '/overview?all=true', dark: true },
    { name: 'overview-phone', path: '/overview?all=true', width: PHONE },
    { name: 'pipelines', path: '/pipelines?all=true' },
    { name: 'pipeline', path: '/pipelines/price-lookup?all=true' },
    { name: 'cost', path: '/cost?all=true' },
    { name: 'cost-phone', path: '/cost?all=true', width: PHONE },
    { name: 'jobs', path: '/jobs?all=true' },
    { name: 'jobs-dark', path: '/jobs?all=true', dark: true },
    { name: 'jobs-phone', path: '/jobs', width: PHONE },
    { name: 'jobs-selected', path: '/jobs', act: selectTwo },
    { name: 'jobs-of-ben', path: '/jobs', as: 'ben' },
    { name: 'new-job', path: '/jobs/new?pipeline=price-lookup' },
    { name: 'new-job-check', path: '/jobs/new?pipeline=price-lookup', act: checkFile },
    { name: 'new-job-options', path: '/jobs/new?pipeline=price-lookup', act: seeOptions },
    { name: 'job', path: `/jobs/${running}?overview=true` },
    { name: 'job-dark', path: `/jobs/${running}?overview=true`, dark: true },
    { name: 'job-phone', path: `/jobs/${running}?overview=true`, width: PHONE },
    { name: 'job-items', path: `/jobs/${done}` },
    { name: 'job-items-dark', path: `/jobs/${done}?statuses=ERROR%2CNOT_FOUND`, dark: true },
    { name: 'job-items-phone', path: `/jobs/${done}`, width: PHONE },
    { name: 'job-item', path: `/jobs/${done}?statuses=ERROR`, act: openFirstRow },
    { name: 'job-item-edit', path: `/jobs/${done}?statuses=ERROR`, act: editFirstRow },
    { name: 'job-item-phone', path: `/jobs/${done}?row=3`, width: PHONE },
    { name: 'job-run-again', path: `/jobs/${done}`, act: runAgain },
    { name: 'job-pending', path: `/jobs/${running}?overview=false&tab=pending` },
    { name: 'job-errors', path: `/jobs/${done}?tab=errors` },
    { name: 'job-rejected', path: `/jobs/${done}?tab=rejected` },
    { name: 'job-files', path: `/jobs/${done}?tab=files` },
    { name: 'job-generations', path: `/jobs/${done}?tab=generations` },
    { name: 'job-activity', path: `/jobs/${done}?tab=activity` },
    { name: 'job-out-of-money', path: `/jobs/${budget}?overview=true` },
    { name: 'job-queued', path: `/jobs/${queued}` },
    { name: 'job-trial', path: `/jobs/${trial}?overview=false` },
    { name: 'job-refused-file', path: `/jobs/${refused}` },
    {
      name: 'job-images',
      path: `/jobs/${images}`,
      act: (page) => page.getByRole('img', { name: 'lamp-01.png' }).waitFor(),
    },
    { name: 'job-crawl', path: `/jobs/${crawl}`, as: 'ben' },
    { name: 'job-tree', path: `/jobs/${crawl}?tab=tree`, as: 'ben', act: openBranches },
    { name: 'pending', path: '/pending' },
    { name: 'workers', path: '/workers' },
    { name: 'resources', path: '/resources' },
    { name: 'resource-history', path: '/resources', act: openHistory },
    { name: 'counters', path: '/counters' },
    { name: 'counter', path: '/counters/offers?sortBy=pieces' },
    { name: 'webhooks', path: '/webhooks' },
    { name: 'webhook', path: `/webhooks/${webhookId}` },
    { name: 'settings-account', path: '/settings?tab=account' },
    { name: 'settings-keys', path: '/settings?tab=keys' },
    { name: 'settings-people', path: '/settings?tab=people' },
    { name: 'settings-audit', path: '/settings?tab=audit' },
    { name: 'settings-server', path: '/settings?tab=server' },
    { name: 'palette', path: '/jobs', act: openPalette },
    { name: 'keys', path: '/jobs', act: openKeys },
  ];
}

async function selectTwo(page: Page): Promise<void> {
  await page.getByLabel('Select autumn-catalogue.csv').check();
  await page.getByLabel('Select titles-to-translate.csv').check();
}

async function checkFile(page: Page): Promise<void> {
  await dropMessyFile(page);
  await page.getByRole('heading', { name: '3. Match columns and check' }).scrollIntoViewIfNeeded();
  await page.evaluate(`document.querySelector('h2:nth-of-type(1)'); scrollTo(0, 420)`);
}

async function seeOptions(page: Page): Promise<void> {
  await dropMessyFile(page);
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
}

async function openFirstRow(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /^Open row/ })
    .first()
    .click();
  await page.getByRole('dialog').waitFor();
}

async function editFirstRow(page: Page): Promise<void> {
  await openFirstRow(page);
  await page.getByRole('button', { name: 'Edit & rerun' }).click();
}

async function runAgain(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Retry / }).click();
  await page.getByRole('dialog').waitFor();
}

async function openBranches(page: Page): Promise<void> {
  const tree = page.getByRole('tree');
  await tree.waitFor();
  for (let opened = 0; opened < 2; opened += 1)
    await tree.locator('[aria-expanded=false] [data-toggle]').first().click();
}

async function openHistory(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'History of price-api' }).click();
  await page
    .getByRole('heading', { name: /price-api/ })
    .first()
    .waitFor();
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder(/Search pages and jobs/).waitFor();
}

async function openKeys(page: Page): Promise<void> {
  await page.keyboard.press('?');
  await page.getByRole('heading', { name: 'Keyboard shortcuts', exact: true }).waitFor();
}
