// Rows sorted by a field or a column: the order, pages that continue it, filters, and the bound.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/index.ts';
import { send } from '../support/api-pipelines.ts';
import { apiReader } from '../support/api-reader.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { seedResults } from '../support/seed-results.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
let jobId: string;
/** Numbers as texts, texts in both cases, empty and missing cells. */
const WORDS = ['10', '9', 'pear', 'Apple', '', '-2.5', 'apple', '9', undefined, 'x'.repeat(400)];
const STATUSES = ['DONE', 'ERROR', 'NOT_FOUND'] as const;

beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  jobId = await jobWithItems(contextOf(rowmill), { items: 30, input: (n) => ({ word: WORDS[n % 10] }) });
  await seedResults(
    database,
    jobId,
    Array.from({ length: 25 }, (_, seq) => ({
      seq,
      status: STATUSES[seq % 3]!,
      error: seq % 3 === 0 ? null : `no ${seq}`,
      errorClass: seq % 3 === 0 ? null : 'permanent',
      result: seq % 3 === 0 ? { price: (seq * 7) % 11 } : undefined,
    })),
  );
  await database.query(
    'insert into ledger (job_id, entry_id, generation, phase, done, error, not_found) values ($1, $1, 1, 0, 9, 8, 8)',
    [jobId],
  );
});
afterAll(() => rowmill?.close());

async function sorted(sort: string, filter: Record<string, string> = {}, limit = 4): Promise<number[]> {
  const { url } = await startTestApi(database.url);
  const pages = await apiReader(url).pages('listItems', { jobId }, { sort, ...filter, limit });
  return pages.flatMap(({ items }) => items.map(({ seq }) => seq));
}

const repeated = (places: number[]): number[] => places.flatMap((place) => [place, place + 10, place + 20]);

test('numbers come first, then texts, then empty cells, and equal rows in file order', async () => {
  const numbers = [...repeated([5]), 1, 7, 11, 17, 21, 27, ...repeated([0])];
  const texts = [3, 6, 13, 16, 23, 26, ...repeated([2]), ...repeated([9])];
  const empty = [4, 8, 14, 18, 24, 28];
  expect(await sorted('input:word')).toEqual([...numbers, ...texts, ...empty]);
  const down = [...repeated([0]), 1, 7, 11, 17, 21, 27, ...repeated([5])];
  const textsDown = [...repeated([9]), ...repeated([2]), 3, 6, 13, 16, 23, 26];
  expect(await sorted('-input:word')).toEqual([...down, ...textsDown, ...empty]);
});

test('by result, status and error, with the filters of the list', async () => {
  const prices = Array.from({ length: 9 }, (_, at) => at * 3).sort(
    (a, b) => ((a * 7) % 11) - ((b * 7) % 11) || a - b,
  );
  expect((await sorted('result:price')).slice(0, 9)).toEqual(prices);
  expect((await sorted('status')).slice(0, 9)).toEqual(Array.from({ length: 9 }, (_, at) => at * 3));
  expect(await sorted('-input:word', { statuses: 'ERROR', search: 'APPLE' })).toEqual([13, 16]);
  expect(await sorted('input:word', { statuses: 'PENDING' })).toEqual([25, 27, 26, 29, 28]);
});

test('a cursor belongs to its order', async () => {
  const { url } = await startTestApi(database.url);
  const { next } = await apiReader(url).read('listItems', { jobId }, { sort: 'input:word', limit: 2 });
  const { status, body } = await send(
    url,
    'GET',
    `/api/jobs/${jobId}/items?sort=-input:word&limit=2&cursor=${next}`,
  );
  expect([status, body.code]).toEqual([400, 'CURSOR_INVALID']);
  expect((await send(url, 'GET', `/api/jobs/${jobId}/items?sort=colour`)).status).toBe(400);
});

test('large rows make short pages and are not lost', async () => {
  const { url } = await startTestApi(database.url);
  const text = 'long '.repeat(100_000);
  const wide = await jobWithItems(contextOf(rowmill), { items: 20, input: (n) => ({ n: 20 - n, text }) });
  const pages = await apiReader(url).pages('listItems', { jobId: wide }, { sort: 'input:n', limit: 50 });
  expect(pages.length).toBeGreaterThan(1);
  expect(pages.flatMap(({ items }) => items.map(({ seq }) => seq))).toEqual(
    Array.from({ length: 20 }, (_, at) => 19 - at),
  );
});

test('a job with too many rows is sorted after a filter that selects few', async () => {
  const { url } = await startTestApi(database.url);
  await database.query('update jobs set item_count = 50001 where job_id = $1', [jobId]);
  try {
    const { status, body } = await send(url, 'GET', `/api/jobs/${jobId}/items?sort=input:word`);
    expect([status, body.code]).toEqual([409, 'SORT_TOO_LARGE']);
    expect(await sorted('input:word', { statuses: 'ERROR' }, 3)).toEqual([1, 7, 10, 13, 16, 22, 19, 4]);
  } finally {
    await database.query('update jobs set item_count = 30 where job_id = $1', [jobId]);
  }
});
