// Two users of one server, each with their own browser and job: nothing that one of them can click, type, search for
// or send with the session of the page shows the job of the other.
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { definePipeline, openRowmill, type Rowmill } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { addUser, sessionHeaders } from '../support/account-factory.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
const pipeline = definePipeline({ name: 'prices', phases: [{ name: 'lookup', run: () => ({ price: 1 }) }] });

interface Person {
  userId: string;
  jobName: string;
  jobId: string;
  secret: string;
  page: Page;
  complaints: string[];
}

let api: RunningApi;
let rowmill: Rowmill;
let people: [Person, Person];
/** Part of all names, because tests share the database. */
let round = 0;

beforeEach(async () => {
  api = await startTestApi(database.url, {
    pipelines: [pipeline],
    settings: { authentication: 'password', pendingDashboard: 'on' },
  });
  rowmill = await openRowmill({ databaseUrl: database.url });
  round += 1;
  people = [
    await addPerson(`ada${round}`, `Harbour prices ${round}`),
    await addPerson(`ben${round}`, `Mountain prices ${round}`),
  ];
});
afterEach(() => rowmill.close());

/** Half of the job is done, the other half is held. */
async function addPerson(userId: string, jobName: string): Promise<Person> {
  await addUser(database, userId);
  const secret = `${userId}-only`;
  const rows = Array.from({ length: 20 }, (_, at) => ({ title: `${secret} ${at}` }));
  const jobId = await rowmill.submit(pipeline, rows, { name: jobName, ownerId: userId, trial: 10 });
  const worker = await rowmill.startWorker([pipeline]);
  try {
    await expect
      .poll(() => database.query('select 1 from results where job_id = $1', [jobId]))
      .toHaveLength(10);
  } finally {
    await worker.stop();
  }
  const { page, complaints } = await browser.open();
  const { cookie } = await sessionHeaders(database, userId);
  const [name, value] = cookie.split('=') as [string, string];
  await page.context().addCookies([{ name, value, url: api.url }]);
  return { userId, jobName, jobId, secret, page, complaints };
}

/** Sends a request as a script in the page, with its session. */
async function ask(page: Page, method: string, path: string): Promise<{ status: number; text: string }> {
  return page.evaluate(
    async ([how, where]) => {
      const response = await fetch(where!, { method: how! });
      return { status: response.status, text: await response.text() };
    },
    [method, path],
  );
}

const REQUESTS: readonly [string, (jobId: string) => string][] = [
  ['GET', (jobId) => `/api/jobs/${jobId}`],
  ['GET', (jobId) => `/api/jobs/${jobId}/items`],
  ['GET', (jobId) => `/api/jobs/${jobId}/items/0`],
  ['GET', (jobId) => `/api/jobs/${jobId}/items/0/image`],
  ['GET', (jobId) => `/api/jobs/${jobId}/tree`],
  ['GET', (jobId) => `/api/jobs/${jobId}/errors`],
  ['GET', (jobId) => `/api/jobs/${jobId}/pending`],
  ['GET', (jobId) => `/api/jobs/${jobId}/activity`],
  ['GET', (jobId) => `/api/jobs/${jobId}/files`],
  ['GET', (jobId) => `/api/jobs/${jobId}/files/input`],
  ['GET', (jobId) => `/api/jobs/${jobId}/export?format=csv`],
  ['GET', (jobId) => `/api/jobs/${jobId}/events`],
  ['POST', (jobId) => `/api/jobs/${jobId}/export`],
  ['POST', (jobId) => `/api/jobs/${jobId}/pause`],
  ['POST', (jobId) => `/api/jobs/${jobId}/cancel`],
  ['DELETE', (jobId) => `/api/jobs/${jobId}`],
];

test('neither of two users finds, opens, reads or changes the job of the other', async () => {
  for (const [me, other] of [people, people.toReversed()] as [Person, Person][]) {
    const { page } = me;
    await page.goto(`${api.url}/jobs`);
    await page.getByRole('link', { name: me.jobName }).waitFor();
    expect(await page.getByText(other.jobName).count()).toBe(0);
    await page.getByRole('searchbox').fill('prices');
    await expect.poll(() => page.url()).toContain('search=prices');
    await page.getByRole('link', { name: me.jobName }).waitFor();
    expect(await page.getByText(other.jobName).count()).toBe(0);

    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    await palette.getByText(me.jobName).waitFor();
    expect(await palette.getByText(other.jobName).count()).toBe(0);
    await palette.getByRole('combobox').fill(other.jobName);
    await palette.getByText('No results').waitFor();
    await palette.getByRole('combobox').fill(other.jobId);
    await palette.getByText('No results').waitFor();
    await page.keyboard.press('Escape');

    await page.goto(`${api.url}/pending`);
    await page.getByText(`${me.secret} 15`).first().waitFor();
    expect(await page.getByText(other.secret).count()).toBe(0);
    await page.goto(`${api.url}/pending?jobId=${other.jobId}`);
    await page.getByRole('heading', { name: 'Nothing in progress' }).waitFor();

    // The address of the job, of one of its rows, and of its tabs.
    const missing = newId();
    for (const part of ['', '?row=0', '?tab=files', '?tab=pending']) {
      await page.goto(`${api.url}/jobs/${other.jobId}${part}`);
      await page.getByRole('heading', { name: 'Something went wrong' }).waitFor();
      await page.getByText(`there is no job ${other.jobId}`).waitFor();
      expect(await page.getByText(other.secret).count()).toBe(0);
      expect(await page.getByText(other.jobName).count()).toBe(0);
    }
    for (const [method, path] of REQUESTS) {
      const foreign = await ask(page, method, path(other.jobId));
      const gone = await ask(page, method, path(missing));
      expect(foreign.status, `${method} ${path('…')}`).toBe(404);
      expect(plain(foreign.text, other.jobId)).toEqual(plain(gone.text, missing));
    }
    // The same requests succeed for their own job.
    expect((await ask(page, 'GET', `/api/jobs/${me.jobId}/items/0`)).text).toContain(`${me.secret} 0`);
    expect((await ask(page, 'GET', `/api/jobs/${me.jobId}/export?format=csv`)).text).toContain(me.secret);
    expect((await ask(page, 'GET', '/api/jobs?all=true')).status).toBe(403);
    expectNoComplaints(me.complaints);
  }
  const untouched = await database.query(
    `select job_id from jobs where job_id = any($1) and cancelled_at is null and state <> 'PAUSED'`,
    [people.map(({ jobId }) => jobId)],
  );
  expect(untouched).toHaveLength(2);
});

test("events of one user's job are not sent to the page of the other", async () => {
  const [ada, ben] = people;
  for (const { page } of people) {
    await page.goto(`${api.url}/jobs`);
    await page.getByText('Live', { exact: true }).waitFor();
  }
  const told = await ben.page.evaluateHandle(`
    (async () => {
      const seen = [];
      const { body } = await fetch('/api/events');
      const reader = body.pipeThrough(new TextDecoderStream()).getReader();
      (async () => { for (;;) { const { value, done } = await reader.read(); if (done) break; seen.push(value); } })();
      return seen;
    })()`);
  await ada.page.getByRole('link', { name: ada.jobName }).click();
  await ada.page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await ada.page.getByRole('button', { name: 'Cancel job' }).click();
  await ada.page.getByText('Cancelled', { exact: true }).first().waitFor();
  // A later event of his own job: an event of hers would have arrived before it.
  await ben.page.getByRole('link', { name: ben.jobName }).click();
  await ben.page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await ben.page.getByRole('button', { name: 'Cancel job' }).click();
  await expect.poll(async () => ((await told.jsonValue()) as string[]).join('')).toContain(ben.jobId);
  expect(((await told.jsonValue()) as string[]).join('')).not.toContain(ada.jobId);
});

/** Without the parts that differ between any two refusals. */
function plain(text: string, jobId: string): unknown {
  const { requestId: _, ...refusal } = JSON.parse(text.replaceAll(jobId, 'JOB')) as Record<string, unknown>;
  return refusal;
}
