// Pages of every list: forward, back and by links, with the same parameters everywhere, and with cursors that only the
// server can create.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/contract/route.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import { newId } from '../../src/platform/random.ts';
import { addTeam, addUser, keyHeaders } from '../support/account-factory.ts';
import { addCounted } from '../support/counter-factory.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { sendRequest } from '../support/send-request.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const WITH_ACCOUNTS = { settings: { authentication: 'password', pendingDashboard: 'on' } };
const ROWS = 7;

let jobId: string;
let webhookId: string;
let headers: Record<string, string>;
beforeAll(async () => {
  for (let n = 0; n < ROWS; n += 1) {
    jobId = await jobWithItems(database.context(), { items: ROWS });
    const userId = n === 0 ? 'ada' : `user-${n}`;
    await addUser(database, userId, { role: n === 0 ? 'admin' : 'member' });
    await addTeam(database, `@team-${n}`);
    await database.query(`insert into owners (owner_id, weight) values ($1, 2)`, [`owner-${n}`]);
    headers = await keyHeaders(database, 'ada', ['read', 'write', 'export', 'admin']);
    webhookId = newId();
    await database.query(
      `insert into webhooks (webhook_id, owner_id, url, host, kinds, description, secret)
       values ($1, 'ada', 'http://127.0.0.1:9', '127.0.0.1', '{job.finished}', '', 'x')`,
      [webhookId],
    );
    await database.query(`insert into audit (actor, action, subject) values ('ada', 'test', 'job ' || $1)`, [
      jobId,
    ]);
  }
  await database.query(`update jobs set owner_id = 'ada'`);
  await database.query(
    `insert into rejected_rows (job_id, ordinal, line, reason, raw)
     select $1, n, n, '', '' from generate_series(1, $2::int) n`,
    [jobId, ROWS],
  );
  await database.query(
    `insert into audit (actor, action, subject) select 'ada', 'test', 'job ' || $1 from generate_series(1, $2::int)`,
    [jobId, ROWS],
  );
  await addCounted(
    database,
    { counter: 'notes', measures: ['notes'] },
    Array.from({ length: ROWS }, (_, n) => ({
      ownerId: 'ada',
      scope: `p${n}`,
      entity: `d${n}`,
      measured: [n],
    })),
  );
});

// A comparison needs a job with two runs: compare-runs.test.ts reads its pages.
const LISTS = (Object.entries(ROUTES) as [RouteName, Route][]).filter(
  ([name, { query }]) => name !== 'compareRuns' && query && 'cursor' in query.shape,
);

interface Page {
  items: unknown[];
  next: string | null;
  previous: string | null;
}

function addressOf({ path }: Route): string {
  const values: Record<string, string> = { jobId, webhookId, counter: 'notes' };
  return path.replace('/api/', '/api/v1/').replaceAll(/:(\w+)/g, (_, name: string) => values[name]!);
}

async function read(url: string, address: string): Promise<{ page: Page; links: Record<string, string> }> {
  const { status, body, headers: heard, text } = await sendRequest(url + address, { headers });
  expect([address, status, status === 200 ? '' : text]).toEqual([address, 200, '']);
  const links = [...String(heard.link).matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, to, name]) => [name, to]);
  return { page: body as unknown as Page, links: Object.fromEntries(links) as Record<string, string> };
}

describe('every list', () => {
  test('has the same paging parameters', () => {
    const lists = (Object.entries(ROUTES) as [RouteName, Route][])
      .filter(([name]) => name.startsWith('list'))
      .map(([name]) => name);
    expect(LISTS.map(([name]) => name).sort()).toEqual(lists.sort());
  });

  test.each(LISTS)('%s is read to its end and back by its links', async (name, route) => {
    const { url } = await startTestApi(database.url, WITH_ACCOUNTS);
    const whole = (await read(url, addressOf(route))).page.items;
    const first = `${addressOf(route)}?limit=2`;
    const pages: Page[] = [];
    const addresses: string[] = [];
    for (let address: string | undefined = first; address !== undefined; ) {
      const { page, links }: Awaited<ReturnType<typeof read>> = await read(url, address);
      expect([name, Object.keys(links).sort()]).toEqual([
        name,
        [
          'first',
          ...(page.next === null ? [] : ['next']),
          ...(page.previous === null ? [] : ['prev']),
        ].sort(),
      ]);
      expect(links.first).toBe(first);
      pages.push(page);
      addresses.push(address);
      address = links.next;
    }
    // Times of rows and of keys in use change between requests.
    const ids = (items: unknown[]) => items.map((item) => JSON.stringify(item).slice(0, 60));
    expect(ids(pages.flatMap(({ items }) => items))).toEqual(ids(whole));
    for (let at = pages.length - 1; at > 0; at -= 1) {
      const { links } = await read(url, addresses[at]!);
      const back = await read(url, links.prev!);
      expect(ids(back.page.items)).toEqual(ids(pages[at - 1]!.items));
      expect(back.page.previous === null).toBe(at === 1);
    }
    if (whole.length > 2) expect(pages.length).toBe(Math.ceil(whole.length / 2));
  });

  test('accepts pageSize and after for limit and cursor, but not both', async () => {
    const { url } = await startTestApi(database.url, WITH_ACCOUNTS);
    const { page } = await read(url, '/api/jobs?pageSize=2');
    expect(page.items).toHaveLength(2);
    const aliased = await read(url, `/api/jobs?pageSize=2&after=${page.next}`);
    const named = await read(url, `/api/v1/jobs?limit=2&cursor=${page.next}`);
    expect(aliased.page).toEqual(named.page);
    for (const query of [
      'limit=2&pageSize=2',
      `cursor=${page.next}&after=${page.next}`,
      'limit=201',
      'limit=0',
    ])
      expect((await sendRequest(`${url}/api/v1/jobs?${query}`, { headers })).status).toBe(400);
  });
});

describe('a cursor', () => {
  test('is valid on another server of the database, and after a restart', async () => {
    const one = await startTestApi(database.url, WITH_ACCOUNTS);
    const { page } = await read(one.url, `/api/v1/jobs/${jobId}/items?limit=3`);
    await one.stop();
    const other = await startTestApi(database.url, WITH_ACCOUNTS);
    const next = await read(other.url, `/api/v1/jobs/${jobId}/items?limit=3&cursor=${page.next}`);
    expect(next.page.items.map((item) => (item as { seq: number }).seq)).toEqual([3, 4, 5]);
  });

  test('that is changed, forged or from an older server is refused with the reason', async () => {
    const { url } = await startTestApi(database.url, WITH_ACCOUNTS);
    const list = `/api/v1/jobs/${jobId}/items?limit=3`;
    const good = (await read(url, list)).page.next!;
    const unsigned = Buffer.from(JSON.stringify([1, `items ${jobId}`, 'seq', 3])).toString('base64url');
    const flip = (at: number) => good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1);
    const changed = Array.from({ length: good.length - 1 }, (_, at) => flip(at));
    for (const cursor of [unsigned, good.slice(1), good.slice(0, -1), `${good}A`, 'x', ...changed]) {
      const { status, body } = await sendRequest(`${url}${list}&cursor=${cursor}`, { headers });
      expect([cursor, status, body?.code]).toEqual([cursor, 400, 'CURSOR_INVALID']);
      expect(body?.message).toContain('not signed by a server of this database');
    }
  });

  test('of a list that started at a row leads back to that row', async () => {
    const { url } = await startTestApi(database.url, WITH_ACCOUNTS);
    const seqs = ({ page }: { page: Page }) => page.items.map((item) => (item as { seq: number }).seq);
    const begun = await read(url, `/api/v1/jobs/${jobId}/items?limit=2&fromSeq=3`);
    const next = await read(url, begun.links.next!);
    const back = await read(url, next.links.prev!);
    expect([seqs(begun), seqs(next), seqs(back), back.page.previous]).toEqual([[3, 4], [5, 6], [3, 4], null]);
  });

  test('of a page far down is bounded in length, and still leads back some pages', async () => {
    const far = await jobWithItems(database.context(), { items: 500 });
    await database.query(`update jobs set owner_id = 'ada'`);
    const { url } = await startTestApi(database.url, WITH_ACCOUNTS);
    let { page, links } = await read(url, `/api/v1/jobs/${far}/items?limit=1`);
    for (let n = 0; n < 350; n += 1) ({ page, links } = await read(url, links.next!));
    expect(page.next!.length).toBeLessThan(1500);
    for (let n = 0; n < 50; n += 1) ({ page, links } = await read(url, links.prev!));
    expect(page.items).toMatchObject([{ seq: 300 }]);
  });
});
