// Items emitted by handlers: a crawled site where every page links to others, most of which are already known.
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { flushOutcomes, type RecordedOutcome } from '../../src/engine/flush/flush-outcomes.ts';
import { exportJob } from '../../src/export/export-job.ts';
import { definePipeline, openRowmill, type Rowmill } from '../../src/index.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { emittedChild } from '../../src/worker/run/emitted-child.ts';
import { checkInvariants } from '../support/invariants.ts';
import { claimRequest, jobWithItems, replaceSpans } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();

async function checkJob(jobId: string): Promise<void> {
  const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
    rows: await database.query(text, values),
  });
  expect(await checkInvariants({ query } as never, jobId)).toEqual([]);
}

async function withRowmill(
  settings: Partial<Settings>,
  work: (rowmill: Rowmill) => Promise<void>,
): Promise<void> {
  const rowmill = await openRowmill({ databaseUrl: database.url, settings });
  try {
    await work(rowmill);
  } finally {
    await rowmill.close();
  }
}

async function exported(jobId: string, format: 'csv' | 'jsonl'): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of exportJob(database.context().db, { jobId, format, pageRows: 70 }))
    chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const PAGES = 300;
/** Every page links to twelve others; all are reachable from the first. */
const linksOf = (page: number): number[] =>
  [page + 1, ...Array.from({ length: 11 }, (_, n) => page * 7 + n * 13)].map((each) => each % PAGES);

let calls = new Map<number, number>();
const crawl = definePipeline({
  name: 'crawl',
  key: 'page',
  phases: [
    {
      name: 'fetch',
      concurrency: 20,
      run: (row, { emit, attempt }) => {
        const page = Number(row.page);
        calls.set(page, (calls.get(page) ?? 0) + 1);
        for (const link of linksOf(page)) emit(String(link), { page: link, from: page });
        // Items emitted by a failed call must not be stored.
        if (page % 10 === 3 && attempt === 1) {
          emit(`ghost ${page}`, { page: -1 });
          throw Object.assign(new Error('busy'), { status: 503 });
        }
        return { links: linksOf(page).length };
      },
    },
  ],
});

describe('emitted items', () => {
  test('run once per key, however many workers find them, and the job finishes after the last one', async () => {
    calls = new Map();
    const settings = { flushMaxItems: 20, flushMaxDelayMs: 5, claimMax: 10, pollMaxMs: 50 };
    await withRowmill(settings, async (rowmill) => {
      const bytes = (async function* () {
        yield Buffer.from('page\n0\n');
      })();
      const { jobId } = await rowmill.submitFile(crawl, { name: 'seeds.csv', bytes });
      const workers = await Promise.all([1, 2, 3].map(() => rowmill.startWorker([crawl])));
      const summary = await whenFinished(rowmill, jobId);
      await Promise.all(workers.map((worker) => worker.stop()));
      expect(summary).toMatchObject({ total: PAGES, counts: { DONE: PAGES } });
      expect([...calls].filter(([page, count]) => count !== (page % 10 === 3 ? 2 : 1))).toEqual([]);
      const items = await database.query<{ seq: number; page: number; parent: number | null; depth: number }>(
        `select seq::int, (input ->> 'page')::int as page, parent_seq::int as parent, depth from items
         where job_id = $1 order by seq`,
        [jobId],
      );
      expect(items.map((item) => item.seq)).toEqual(Array.from({ length: PAGES }, (_, seq) => seq));
      expect(new Set(items.map((item) => item.page)).size).toBe(PAGES);
      for (const { page, parent, depth } of items.slice(1)) {
        expect(linksOf(items[parent!]!.page)).toContain(page);
        expect(depth).toBe(items[parent!]!.depth + 1);
      }
      const { ingestReport, inputColumns } = await rowmill.job(jobId);
      expect(ingestReport).toMatchObject({ stored: 1, emitted: PAGES - 1, tooDeep: 0, tooMany: 0 });
      expect(ingestReport.repeated).toBe(PAGES * 12 - (PAGES - 1));
      expect(inputColumns.map((column) => column.key)).toEqual(['page', 'from']);
      await checkJob(jobId);
      const parents = items.map(({ parent }) => (parent === null ? '' : String(parent + 1)));
      const csv = parse(await exported(jobId, 'csv'), { columns: true }) as Record<string, string>[];
      expect(csv.map((row) => row.rowmill_parent)).toEqual(parents);
      const lines = (await exported(jobId, 'jsonl')).trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line).parentSeq)).toEqual(items.map(({ parent }) => parent));
    });
  });

  test('are limited in depth and number, and the rest is counted', async () => {
    for (const [settings, total, left] of [
      [{ emitMaxDepth: 3 }, 4, { tooDeep: 1, tooMany: 0 }],
      [{ emitMaxItems: 6, emitMaxDepth: 1000 }, 6, { tooDeep: 0, tooMany: 1 }],
    ] as const) {
      await withRowmill(settings, async (rowmill) => {
        const chain = definePipeline({
          name: 'chain',
          phases: [
            {
              name: 'only',
              run: (row, { emit }) => emit(`n ${Number(row.n) + 1}`, { n: Number(row.n) + 1 }),
            },
          ],
        });
        const worker = await rowmill.startWorker([chain]);
        const jobId = await rowmill.submit(chain, [{ n: 0 }]);
        const summary = await whenFinished(rowmill, jobId);
        await worker.stop();
        expect(summary.total).toBe(total);
        expect((await rowmill.job(jobId)).ingestReport).toMatchObject(left);
        await checkJob(jobId);
      });
    }
  });

  test('can arrive while the file is still being read, without effect on each other', async () => {
    await withRowmill({ ingestMinRows: 10, ingestMaxRows: 10, pollMaxMs: 20 }, async (rowmill) => {
      const grow = definePipeline({
        name: 'grow',
        phases: [
          {
            name: 'only',
            run: (row, { emit }) =>
              row.n === undefined ? null : emit(`child of ${String(row.n)}`, { of: row.n }),
          },
        ],
      });
      const worker = await rowmill.startWorker([grow]);
      const bytes = (async function* () {
        yield Buffer.from(`n\n${Array.from({ length: 2000 }, (_, n) => n).join('\n')}\n`);
      })();
      const { jobId } = await rowmill.submitFile(grow, { name: 'grow.csv', bytes });
      const summary = await whenFinished(rowmill, jobId);
      await worker.stop();
      expect(summary.total).toBe(4000);
      expect((await rowmill.job(jobId)).ingestReport).toMatchObject({
        read: 2000,
        stored: 2000,
        emitted: 2000,
      });
      const mixed = await database.query(
        `select 1 from items a join items b on b.job_id = a.job_id and b.seq = a.seq + 1
         where a.job_id = $1 and a.parent_seq is not null and b.parent_seq is null limit 1`,
        [jobId],
      );
      expect(mixed, 'void: nothing was emitted before the file was read').toHaveLength(1);
      await checkJob(jobId);
    });
  });

  test('of concurrent flushes are stored once per key', async () => {
    const contexts = [database.context(), database.context(), database.context()];
    const jobId = await jobWithItems(contexts[0]!, { items: 9 });
    await replaceSpans(database, jobId, [{ items: '{[0,3)}' }, { items: '{[3,6)}' }, { items: '{[6,9)}' }]);
    const claims = [];
    for (const { db } of contexts) claims.push((await claimItems(db, claimRequest(jobId, { maxItems: 3 })))!);
    await Promise.all(
      claims.map((claim, worker) => {
        const outcomes = claim.items.map(
          ({ seq }): RecordedOutcome => ({
            seq,
            kind: 'terminal',
            status: 'DONE',
            json: null,
            failure: null,
            delayMs: 0,
            handlerMs: 1,
            children: Array.from({ length: 40 }, (_, n) =>
              emittedChild(`key ${(n * 7 + seq) % 50}`, { n }, n % 3),
            ),
          }),
        );
        const { spanId, token, attempt, failures, crashes, priority, generation, phase } = claim;
        const leases = [{ spanId, token, attempt, failures, crashes, priority, outcomes }];
        const batch = { jobId, generation, phase, workerId: token, flushId: token, leases };
        return flushOutcomes(contexts[worker]!, batch, false);
      }),
    );
    const [found] = await database.query(
      `select count(*)::int as items, count(distinct item_key)::int as keys, max(seq)::int as last,
              (select item_count::int from jobs where job_id = $1) as known,
              (select sum(item_count)::int from spans where job_id = $1) as queued
       from items where job_id = $1`,
      [jobId],
    );
    expect(found).toEqual({ items: 59, keys: 50, last: 58, known: 59, queued: 50 });
    await checkJob(jobId);
  });

  test('of a flush whose lease was lost are not stored', async () => {
    const context = database.context();
    const jobId = await jobWithItems(context, { items: 1 });
    const claim = (await claimItems(context.db, claimRequest(jobId)))!;
    await database.query('update spans set token = gen_random_uuid() where job_id = $1', [jobId]);
    const { spanId, token, attempt, failures, crashes, priority, generation, phase } = claim;
    const outcomes: RecordedOutcome[] = [
      {
        seq: 0,
        kind: 'terminal',
        status: 'DONE',
        json: null,
        failure: null,
        delayMs: 0,
        handlerMs: 1,
        children: [emittedChild('late', {}, 0)],
      },
    ];
    const leases = [{ spanId, token, attempt, failures, crashes, priority, outcomes }];
    await flushOutcomes(
      context,
      { jobId, generation, phase, workerId: token, flushId: token, leases },
      false,
    );
    expect(await database.query('select seq::int from items where job_id = $1', [jobId])).toEqual([
      { seq: 0 },
    ]);
  });

  test.each([
    ['an empty key', () => emittedChild(' ', {}, 0), /key of an emitted item/],
    ['a key that is not a text', () => emittedChild(7, {}, 0), /key of an emitted item/],
    ['a key that is too long', () => emittedChild('x'.repeat(3000), {}, 0), /1 to 2000 bytes/],
    ['an input that is not an object', () => emittedChild('k', 'text', 0), /"k" to be an object/],
    ['a priority that is not a number', () => emittedChild('k', {}, 'high'), /priority/],
    ['an input that is not JSON', () => emittedChild('k', { n: 1n }, 0), /cannot be stored/],
  ])('are refused by emit: %s', (_, emit, message) => {
    expect(emit).toThrow(message);
  });
});
