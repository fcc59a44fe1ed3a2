// Retries waiting rows now: exactly the selected ones, whatever their spans look like, and no row is lost.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { definePipeline, openRowmill, type Rowmill, retryLater } from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { send } from '../support/api-pipelines.ts';
import { checkInvariants } from '../support/invariants.ts';
import { jobWithItems, replaceSpans } from '../support/job-factory.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterAll(() => rowmill.close());

async function expectWhole(jobId: string): Promise<void> {
  const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
    rows: await database.query(text, values),
  });
  expect(await checkInvariants({ query } as never, jobId)).toEqual([]);
}

/** Seqs that can be claimed now, with their attempts. */
async function readyOf(jobId: string): Promise<[number, number][]> {
  const rows = await database.query<{ seq: number; attempt: number }>(
    `select n::int as seq, s.attempt::int from spans s, unnest(s.items) r, generate_series(lower(r), upper(r) - 1) n
     where s.job_id = $1 and s.worker_id is null and s.ready_at <= now() order by n`,
    [jobId],
  );
  return rows.map(({ seq, attempt }) => [seq, attempt]);
}

const HOUR_MS = 3_600_000;

test('clears the delay of selected rows, and keeps it for the others', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await jobWithItems(contextOf(rowmill), { items: 20 });
  await replaceSpans(database, jobId, [
    { items: '{[0,5)}' },
    { items: '{[5,10),[12,15)}', attempt: 2, readyInMs: HOUR_MS },
    { items: '{[10,12)}', attempt: 1, readyInMs: HOUR_MS },
    { items: '{[15,20)}' },
  ]);
  await database.query(`update spans set ready_at = 'infinity' where job_id = $1 and items @> 15::bigint`, [
    jobId,
  ]);
  const retry = (body: object) => send(url, 'POST', `/api/jobs/${jobId}/pending/retry`, body);
  // Row 0 is ready, 16 is held, and 99 does not exist.
  expect((await retry({ itemIds: [14, 6, 0, 16, 99, 10, 11] })).body).toEqual({ readied: 4 });
  expect(await readyOf(jobId)).toEqual([
    [0, 0],
    [1, 0],
    [2, 0],
    [3, 0],
    [4, 0],
    [6, 2],
    [10, 1],
    [11, 1],
    [14, 2],
  ]);
  await expectWhole(jobId);
  expect((await retry({ itemIds: [6, 14] })).body).toEqual({ readied: 0 });
  expect((await retry({})).body).toEqual({ readied: 6 });
  expect((await readyOf(jobId)).length).toBe(15);
  await expectWhole(jobId);
  const audit = await database.query<{ detail: unknown }>(
    `select detail from audit where subject = $1 and action = 'job.retry_now' order by audit_id`,
    [`job ${jobId}`],
  );
  expect(audit.map(({ detail }) => detail)).toEqual([{ items: 4 }, { items: 6 }]);
});

test('keeps every row in exactly one span, whatever is selected', async () => {
  const { url } = await startTestApi(database.url);
  const jobId = await jobWithItems(contextOf(rowmill), { items: 24 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 24, maxLength: 24 }),
      fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1 }),
      async (spanOf, itemIds) => {
        const parts = [0, 1, 2, 3].map((span) => [...spanOf.keys()].filter((seq) => spanOf[seq] === span));
        const spans = parts.filter((seqs) => seqs.length > 0);
        await replaceSpans(
          database,
          jobId,
          spans.map((seqs, at) => ({
            items: `{${seqs.map((seq) => `[${seq},${seq + 1})`).join(',')}}`,
            attempt: at,
            readyInMs: HOUR_MS,
          })),
        );
        await send(url, 'POST', `/api/jobs/${jobId}/pending/retry`, { itemIds });
        const chosen = itemIds.filter((seq) => seq < 24).toSorted((a, b) => a - b);
        expect((await readyOf(jobId)).map(([seq]) => seq)).toEqual(chosen);
        await expectWhole(jobId);
      },
    ),
    { numRuns: 20 },
  );
});

test('runs a row on request that would wait for an hour', async () => {
  const { url } = await startTestApi(database.url);
  let isBusy = true;
  const pipeline = definePipeline({
    name: 'hourly',
    phases: [
      {
        name: 'call',
        run: () => (isBusy ? retryLater({ afterMs: HOUR_MS }) : { ok: true }),
      },
    ],
  });
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(pipeline, [{ n: 0 }, { n: 1 }]);
  await expect.poll(async () => (await rowmill.progress(jobId))!.retrying).toBe(2);
  isBusy = false;
  expect((await send(url, 'POST', `/api/jobs/${jobId}/pending/retry`, {})).body).toEqual({ readied: 2 });
  expect(await rowmill.whenFinished(jobId)).toMatchObject({ counts: { DONE: 2 } });
  await worker.stop();
  // Finished rows do not wait.
  expect((await send(url, 'POST', `/api/jobs/${jobId}/pending/retry`, {})).body).toEqual({ readied: 0 });
});
