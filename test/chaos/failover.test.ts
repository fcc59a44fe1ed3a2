// The primary is killed while rows flow, and its synchronous standby is promoted: workers and servers that know both
// addresses return by themselves, and no acknowledged result is lost or doubled.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { killAll } from '../support/child-process.ts';
import { type ReplicatedPostgres, startReplicatedPostgres } from '../support/replicated-postgres.ts';
import { startTestApi } from '../support/test-api.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  chaosPipeline,
  countEvents,
  numberedItems,
  startChaosWorker,
} from './chaos-worker.ts';
import { checkFinishedJob } from './check-finished-job.ts';

const ITEMS = 800;
let servers: ReplicatedPostgres;

beforeEach(async () => {
  servers = await startReplicatedPostgres();
});
afterEach(async () => {
  await killAll();
  await servers.stop();
});

test('workers and servers find the promoted standby, and every row has one result', async () => {
  const pipeline = chaosPipeline('failover');
  const { url } = servers;
  const rowmill = await openRowmill({ databaseUrl: url, settings: CHAOS_SETTINGS });
  const api = await startTestApi(url, { pipelines: [pipeline] });
  const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
  const worker = startChaosWorker({
    databaseUrl: url,
    pipeline: 'failover',
    handler: { kind: 'work', minMs: 10, maxMs: 30 },
    concurrency: 4,
    settings: { claimMin: 20, claimMax: 20, flushMaxDelayMs: 20, lockFloorMs: 30_000, lockCapMs: 30_000 },
  });
  await whenFlushed(3);
  await servers.killPrimary();
  expect(
    await servers.query('standby', `select 1 from spans where job_id = '${jobId}' limit 1`),
  ).toHaveLength(1);
  const before = countEvents(worker, 'flush.committed');
  const killedMs = performance.now();
  await servers.promoteStandby();
  const promotedMs = performance.now();
  await whenFlushed(before + 1);
  const returnedMs = performance.now();
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  console.log(
    `promoted ${seconds(promotedMs - killedMs)} s after the kill, first flush ${seconds(returnedMs - promotedMs)} s later`,
  );

  await whenFinished(rowmill, jobId);
  const query = async (text: string, values: unknown[] = []) =>
    (await servers.query('standby', text, values)) as never[];
  await checkFinishedJob({ query }, jobId, { counts: { DONE: ITEMS } });
  expect(countEvents(worker, 'ready'), 'the worker was not restarted').toBe(1);
  const answer = await fetch(new URL(`/api/v1/jobs/${jobId}`, api.url));
  expect(await answer.json()).toMatchObject({ state: 'DONE' });
  expect((await diagnose(url)).invariants.flatMap(({ problems }) => problems)).toEqual([]);
  await rowmill.close();
  await api.stop();

  async function whenFlushed(count: number): Promise<void> {
    let seen = 0;
    await worker.waitFor('flush.committed', () => ++seen >= count);
  }
});
