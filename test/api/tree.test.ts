// Rows grouped by parent: every level is paged to its end, each row appears once, and rows of the file are found among
// emitted ones without scanning the whole job.
import { beforeAll, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { treeItem } from '../../src/contract/items.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { type Answer, send } from '../support/api-pipelines.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
/** Each page links to two deeper ones, down to three links from the start; pages that end in 5 are missing. */
const crawl = definePipeline({
  name: 'crawl',
  phases: [
    {
      name: 'fetch',
      run: ({ path }, { emit }) => {
        const links = String(path).split('/').length < 5 ? [`${path}/1`, `${path}/5`] : [];
        for (const link of links) emit(link, { path: link });
        if (String(path).endsWith('5')) throw Object.assign(new Error('gone'), { status: 404 });
        return { links: links.length };
      },
    },
  ],
});

let jobId: string;
beforeAll(async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url });
  jobId = await rowmill.submit(crawl, [{ path: '/a' }, { path: '/b' }, { path: '/c' }]);
  const worker = await rowmill.startWorker([crawl]);
  await whenFinished(rowmill, jobId);
  await worker.stop();
  await rowmill.close();
});

interface Row {
  seq: number;
  summary: string;
  status: string;
  depth: number;
  childCount: number;
}

async function listAll(api: RunningApi, query: string, pageSize: number): Promise<Row[]> {
  const rows: Row[] = [];
  let after = '';
  for (let pages = 0; pages < 500; pages += 1) {
    const path = `/api/jobs/${jobId}/tree?pageSize=${pageSize}${query}${after}`;
    const { status, body }: Answer = await send(api.url, 'GET', path);
    expect(status, JSON.stringify(body)).toBe(200);
    for (const item of body.items) expect(treeItem.parse(item)).toEqual(item);
    rows.push(...(body.items as Row[]));
    if (body.next === null) return rows;
    after = `&after=${body.next}`;
  }
  throw new Error('the list does not end');
}

test('every row appears once in the tree, below the row that emitted it', async () => {
  const api = await startTestApi(database.url);
  const met: Row[] = [];
  const walk = async (rows: Row[]): Promise<void> => {
    for (const row of rows) {
      met.push(row);
      const below = await listAll(api, `&parent=${row.seq}`, 1);
      expect(below).toHaveLength(row.childCount);
      for (const child of below) expect(child.depth).toBe(row.depth + 1);
      await walk(below);
    }
  };
  const roots = await listAll(api, '', 2);
  expect(roots.map(({ seq, depth }) => [seq, depth])).toEqual([
    [0, 0],
    [1, 0],
    [2, 0],
  ]);
  await walk(roots);
  const stored = await database.query<{ seq: number; status: string }>(
    `select i.seq::int, coalesce(r.status::text, 'PENDING') as status
     from items i left join results r using (job_id, seq) where job_id = $1 order by seq`,
    [jobId],
  );
  expect(stored.length).toBeGreaterThan(9);
  expect(met.map(({ seq, status }) => ({ seq, status })).sort((a, b) => a.seq - b.seq)).toEqual(stored);
  expect(new Set(met.map(({ status }) => status)).size).toBeGreaterThan(1);
});

test('a cursor of another level is refused, and a row without children has none', async () => {
  const api = await startTestApi(database.url);
  const first = await send(api.url, 'GET', `/api/jobs/${jobId}/tree?pageSize=1`);
  const other = await send(api.url, 'GET', `/api/jobs/${jobId}/tree?parent=0&after=${first.body.next}`);
  expect([other.status, other.body.code]).toEqual([400, 'CURSOR_INVALID']);
  expect((await send(api.url, 'GET', `/api/jobs/${jobId}/tree?parent=9999999`)).body).toMatchObject({
    items: [],
    next: null,
  });
});

test('rows of the file are found after very many emitted ones', async () => {
  const api = await startTestApi(database.url);
  const many = await jobWithItems(database.context(), { items: 3 });
  const total = 250_000;
  await database.query(
    `insert into items (job_id, seq, input_bytes, input, parent_seq, depth)
     select $1, n, 2, '{}', case when n < $2::int - 2 then 0 end, case when n < $2::int - 2 then 1 else 0 end
     from generate_series(3, $2::int - 1) n`,
    [many, total],
  );
  await database.query(
    `update jobs set item_count = $2::int, ingest_report = jsonb_build_object('emitted', $2::int - 5) where job_id = $1`,
    [many, total],
  );
  const seqs: number[] = [];
  let requests = 0;
  for (let next: string | null = ''; next !== null; requests += 1) {
    const { body } = await send(api.url, 'GET', `/api/jobs/${many}/tree${next && `?after=${next}`}`);
    seqs.push(...(body.items as Row[]).map(({ seq }) => seq));
    next = body.next as string | null;
  }
  expect(seqs).toEqual([0, 1, 2, total - 2, total - 1]);
  expect(requests).toBe(3);
  const { body } = await send(api.url, 'GET', `/api/jobs/${many}/tree?pageSize=1`);
  expect(body.items[0].childCount).toBe(1000);
});
