// Four processes emit the same items concurrently, and one of them is killed: each key becomes one item.
import { afterEach, expect, test } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import { killAll } from '../support/child-process.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { CHAOS_SETTINGS, chaosPipeline, numberedItems, startChaosWorker } from './chaos-worker.ts';
import { checkFinishedJob } from './check-finished-job.ts';

const database = useTestDatabase();
afterEach(killAll);

const PARENTS = 400;
const KEYS = 300;

test('each emitted key becomes one item, and the count is exact', async () => {
  database.keepIfFailed();
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  const pipeline = chaosPipeline('emit');
  const workers = Array.from({ length: 4 }, () =>
    startChaosWorker({
      databaseUrl: database.url,
      pipeline: pipeline.name,
      handler: { kind: 'emit', perItem: 12, keys: KEYS },
      concurrency: 4,
      settings: { claimMin: 5, claimMax: 10, flushMaxDelayMs: 10, lockFloorMs: 3000, lockCapMs: 3000 },
    }),
  );
  await Promise.all(workers.map((worker) => worker.waitFor('ready')));
  const jobId = await rowmill.submit(pipeline, numberedItems(PARENTS));
  // Any process may emit a key first; on a busy machine one may come too late to emit anything.
  const victim = await Promise.race(workers.map((each) => each.waitFor('flush.committed').then(() => each)));
  victim.kill('SIGKILL');
  const summary = await whenFinished(rowmill, jobId);
  expect(summary.total).toBe(PARENTS + KEYS);
  await checkFinishedJob(database, jobId, { counts: { DONE: PARENTS + KEYS } });
  const keys = await database.query<{ item_key: string }>(
    'select item_key from items where job_id = $1 and item_key is not null',
    [jobId],
  );
  expect(new Set(keys.map((row) => row.item_key)).size).toBe(KEYS);
  expect(keys).toHaveLength(KEYS);
  await rowmill.close();
});
