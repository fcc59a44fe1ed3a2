// History of a resource: sampled by workers, read over HTTP.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sampleResources } from '../../src/engine/services/resource-sampler.ts';
import { syncResources } from '../../src/engine/limits/sync-resources.ts';
import { definePipeline, openRowmill, type Rowmill } from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { send } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url, settings: { resourceLeaseMs: 600_000 } });
});
afterAll(() => rowmill.close());

interface Point {
  at: string;
  concurrency: number | null;
  rate: number | null;
  inUse: number;
  calls: number;
  throttled: number;
}

const LIMITS = { ratePerSecond: 100, concurrency: 7, minDelayMs: null, adaptive: false } as never;
/** Reports the calls of a worker since its last sync. */
const sync = (name: string, heard: { ok?: number; throttled?: number; inUse?: number }) =>
  syncResources(contextOf(rowmill), [
    {
      name,
      key: '',
      limits: LIMITS,
      report: {
        workerId: 'w',
        inUse: 0,
        wanted: 5,
        startsWanted: 0,
        retryAfterMs: null,
        ok: 0,
        throttled: 0,
        failed: 0,
        okMs: 0,
        ...heard,
      } as never,
    },
  ]);

/** Makes the existing samples older. */
const pass = (name: string, seconds: number) =>
  database.query(`update resource_samples set at = at - $2 * interval '1 second' where name = $1`, [
    name,
    seconds,
  ]);

test('a worker leaves samples of limits, calls and refusals', async () => {
  const { url } = await startTestApi(database.url);
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  await sync('maps', { ok: 10 });
  await sampleResources(contextOf(rowmill));
  await pass('maps', 30);
  await sync('maps', { ok: 4, throttled: 3, inUse: 2 });
  await sync('maps', { ok: 1, inUse: 1 });
  await sampleResources(contextOf(rowmill));
  const { status, body } = await send(url, 'GET', `/api/resources/maps/history?points=2000&from=${hourAgo}`);
  expect(status).toBe(200);
  const points = body.points as Point[];
  expect(points).toHaveLength(2);
  expect(points[0]).toMatchObject({ concurrency: 7, rate: 100, calls: 0, throttled: 0 });
  expect(points[1]).toMatchObject({ concurrency: 7, rate: 100, inUse: 1, calls: 8, throttled: 3 });
  // Within a step the last sample counts, and nothing is counted twice.
  await sync('maps', { throttled: 2 });
  await sampleResources(contextOf(rowmill));
  const again = (await send(url, 'GET', '/api/resources/maps/history?points=1')).body.points as Point[];
  expect(again).toMatchObject([{ calls: 10, throttled: 5 }]);
});

test('handles restarted totals, gaps and the sample before the first', async () => {
  const { url } = await startTestApi(database.url);
  const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * 60_000).toISOString();
  const add = (minutesAgo: number, calls: number, throttled: number) =>
    database.query(
      `insert into resource_samples (name, key, at, concurrency, rate, in_use, calls, throttled)
       values ('shop', 'a/b', date_bin('15 seconds', $1::timestamptz, 'epoch'), null, null, 1, $2, $3)`,
      [at(minutesAgo), calls, throttled],
    );
  await add(50, 1000, 10);
  await add(40, 1100, 20);
  await add(10, 30, 1);
  await add(5, 50, 1);
  const path = `/api/resources/shop/history?key=${encodeURIComponent('a/b')}&points=2000`;
  const { body } = await send(url, 'GET', `${path}&from=${encodeURIComponent(at(45))}`);
  expect((body.points as Point[]).map(({ calls, throttled }) => [calls, throttled])).toEqual([
    [100, 10],
    [30, 1],
    [20, 0],
  ]);
  expect((await send(url, 'GET', '/api/resources/shop/history')).body.points).toEqual([]);
  const wrong = await send(url, 'GET', `${path}&from=${at(1)}&to=${at(9)}`);
  expect([wrong.status, wrong.body.code]).toEqual([400, 'REQUEST_INVALID']);
});

test('removes samples older than a day, and adds none for unused keys', async () => {
  await sync('old', { ok: 1 });
  await sampleResources(contextOf(rowmill));
  await database.query(`update resource_samples set at = now() - interval '25 hours' where name = 'old'`);
  await database.query(`update resources set synced_at = now() - interval '1 hour' where name = 'old'`);
  await sampleResources(contextOf(rowmill));
  expect(await database.query(`select 1 from resource_samples where name = 'old'`)).toEqual([]);
});

test('counts the calls of a real worker', async () => {
  let refused = 0;
  const pipeline = definePipeline({
    name: 'counted',
    resources: { counted: { concurrency: 4 } },
    phases: [
      {
        name: 'call',
        resources: ['counted'],
        retry: { throttled: { maxAttempts: 5, baseMs: 1, capMs: 1 } },
        run: ({ n }) => {
          if (n !== 0 || refused > 0) return { n };
          refused += 1;
          throw Object.assign(new Error('too many'), { status: 429 });
        },
      },
    ],
  });
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: 20 }, (_, n) => ({ n })),
  );
  await rowmill.whenFinished(jobId);
  const counted = () =>
    database.query(`select calls::int, throttled::int from resources where name = 'counted'`);
  await expect.poll(counted).toEqual([{ calls: 21, throttled: 1 }]);
  await worker.stop();
});
