// Cursors over HTTP: anything that is not a cursor of this list and order is refused with the reason.
import { beforeAll, describe, expect, test } from 'vitest';
import type { RouteName } from '../../src/contract/routes.ts';
import { apiReader } from '../support/api-reader.ts';
import { addCounted } from '../support/counter-factory.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const ON = { settings: { pendingDashboard: 'on' } };

const LISTS: RouteName[] = [
  'listJobs',
  'listItems',
  'listRejected',
  'listLogs',
  'listPendingOfJob',
  'listPending',
  'listJobActivity',
  'listAudit',
  'listCounterEntities',
  'listCounterScopes',
];

/** Lists that do not belong to one job. */
const OF_NO_JOB: RouteName[] = [
  'listJobs',
  'listPending',
  'listAudit',
  'listCounterEntities',
  'listCounterScopes',
];

let jobs: string[];
beforeAll(async () => {
  const context = database.context();
  jobs = [];
  for (let n = 0; n < 2; n += 1) jobs.push(await jobWithItems(context, { items: 5 }));
  await addCounted(
    database,
    { counter: 'notes', measures: ['notes'] },
    [0, 1, 2].map((n) => ({ ownerId: 'local', scope: `p${n}`, entity: `d${n}`, measured: [n] })),
  );
  for (const jobId of jobs) {
    await database.query(
      `insert into rejected_rows (job_id, ordinal, line, reason, raw) select $1, n, n, '', '' from generate_series(0, 4) n`,
      [jobId],
    );
    await database.query(
      `insert into trace_blocks (job_id, first_seq, last_seq, generation, phase, worker_id, line_count, traces)
       select $1, n, n, 1, 0, gen_random_uuid(), 1, '{"seq":' || n || ',"attempt":1,"outcome":"done","agoMs":0,"durationMs":0,'
         || '"log":[{"atMs":0,"level":"info","message":"","fields":{}}]}' from generate_series(0, 4) n`,
      [jobId],
    );
    await database.query(
      `insert into audit (actor, action, subject) select 'ada', 'test', 'job ' || $1 from generate_series(0, 4) n`,
      [jobId],
    );
  }
});

async function cursorOf(url: string, list: RouteName, jobId: string): Promise<string> {
  const page = (await apiReader(url).read(list, { jobId, counter: 'notes' }, { pageSize: 1 })) as unknown as {
    next: string;
  };
  expect(page.next).toMatch(/^[\w-]{10,500}$/);
  return page.next;
}

describe('a cursor', () => {
  test.each(LISTS)('of %s is refused by every other list', async (list) => {
    const { url } = await startTestApi(database.url, ON);
    const reader = apiReader(url);
    const [jobId] = jobs;
    const after = await cursorOf(url, list, jobId!);
    await reader.read(list, { jobId, counter: 'notes' }, { after });
    for (const other of LISTS.filter((name) => name !== list)) {
      expect(await reader.refusal(other, { jobId, counter: 'notes' }, { after })).toMatchObject({
        status: 400,
        code: 'CURSOR_INVALID',
        message: expect.stringContaining('another list'),
      });
    }
  });

  test.each(LISTS.filter((list) => !OF_NO_JOB.includes(list)))(
    'of %s is refused for another job',
    async (list) => {
      const { url } = await startTestApi(database.url, ON);
      const after = await cursorOf(url, list, jobs[0]!);
      expect(await apiReader(url).refusal(list, { jobId: jobs[1]! }, { after })).toMatchObject({
        status: 400,
        code: 'CURSOR_INVALID',
      });
    },
  );

  test('of one order is refused by the other', async () => {
    const { url } = await startTestApi(database.url);
    const after = await cursorOf(url, 'listItems', jobs[0]!);
    expect(
      await apiReader(url).refusal('listItems', { jobId: jobs[0]! }, { after, sort: '-seq' }),
    ).toMatchObject({ code: 'CURSOR_INVALID', message: expect.stringContaining('the order seq') });
  });

  test.each(LISTS)('of %s that is damaged is refused, and so is any other text', async (list) => {
    const { url } = await startTestApi(database.url, ON);
    const reader = apiReader(url);
    const [jobId] = jobs;
    const good = await cursorOf(url, list, jobId!);
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    // Cursors from before they were signed, and forged ones.
    const bad = [
      good.slice(0, -4),
      `${good}%`,
      'x',
      "' or 1=1 --",
      encode(null),
      encode([1, 'jobs', 'newest', '2026-01-01T00:00:00.000000Z', jobs[0]]),
      encode([2, 'jobs', 'newest', false, []]),
      encode([99]),
    ];
    for (const after of bad)
      expect(await reader.refusal(list, { jobId, counter: 'notes' }, { after })).toMatchObject({
        status: 400,
        code: 'CURSOR_INVALID',
      });
  });
});

describe('a query', () => {
  test('with text that the database cannot store is refused, and is not an internal error', async () => {
    const { url } = await startTestApi(database.url, ON);
    for (const path of [
      '/api/jobs?search=%00',
      '/api/audit?actor=a%00b',
      `/api/jobs/${jobs[0]}/items?errorGroup=%00:x`,
      '/api/pending?jobType=%00',
    ]) {
      const response = await fetch(url + path);
      expect(`${path} ${response.status}`).toBe(`${path} 400`);
    }
  });

  test('with a time or number out of range is answered or refused, and is not an internal error', async () => {
    const { url } = await startTestApi(database.url, ON);
    const times = ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', '2026-01-01T00:00:00+23:59'];
    const job = `/api/jobs/${jobs[0]}`;
    const paths: [string, number][] = [
      ...times.flatMap((time): [string, number][] => [
        [`/api/pending?from=${encodeURIComponent(time)}&to=${encodeURIComponent(time)}`, 200],
        [`${job}/timeline?from=0000-01-01T00:00:00Z&to=${encodeURIComponent(time)}`, 200],
      ]),
      [`${job}/summary?generation=2147483647`, 404],
      [`${job}/summary?generation=9007199254740991`, 400],
      [`${job}/items/9007199254740991`, 404],
      [`${job}/items?fromSeq=9007199254740991`, 200],
      [`${job}/items?phase=1000`, 200],
    ];
    for (const [path, status] of paths) {
      const response = await fetch(url + path);
      const { code } = (await response.json()) as { code?: string };
      // The range is empty if it ends before all times.
      if (path.includes('timeline') && code === 'REQUEST_INVALID') continue;
      expect(`${path} ${response.status}`).toBe(`${path} ${status}`);
    }
  });
});
