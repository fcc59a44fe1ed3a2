// graphile-worker: one row per job, deleted on completion. It keeps no results, so it writes less than all others.
import type { Runner } from 'graphile-worker';
import type { Contestant, ContestantOptions } from '../contestant.ts';
import { createHandler, createItem, type Item } from '../payload.ts';
import type pg from 'pg';
import { openPool, readNumber, waitUntilTrue } from './read-state.ts';

// Read once when the module loads. Without it, every success writes a log line (its own perfTest sets it too).
process.env.NO_LOG_SUCCESS = '1';
const { Logger, makeWorkerUtils, run } = await import('graphile-worker');

const logger = new Logger(() => (level, message) => {
  if (level === 'error' || level === 'warning') console.error('graphile-worker', message);
});

// The documented best (worker.graphile.org/docs/performance): a local queue of 500, batched completion without delay,
// 24 concurrent jobs. Tried with 100,000 items, in thousands of items/s, on 2 cores with other load, so compare only
// within a line:
//   concurrentJobs 8 / 24 / 100 / 500 (PG 15)              42-43 / 43-44 / 36-43 / 29-32
//   completion delay 0 / 5 / 25 ms (PG 15)                 35-44 / 29-47 / 32-53
//   completion delay 0 / 5 / 25 ms (embedded PG 18)        33-45 / 32-43 / 30-41
//   localQueue 500 / 2000 / 5000 (embedded PG 18)          33-45 / 20-33 / 29-40
//   addJobs in batches of 1,000 / 10,000 / 50,000          50 / 62 / 59 enqueued
export const bestSettings = {
  concurrentJobs: 24,
  localQueueSize: 500,
  completeJobBatchDelayMs: 0,
  addJobsBatch: 10_000,
};

export function createContestant(options: ContestantOptions, settings = bestSettings): Contestant {
  const { databaseUrl, itemCount } = options;
  const utils = () => makeWorkerUtils({ connectionString: databaseUrl, logger });
  // It warns if the local queue is smaller than the concurrency, so small claims bound both.
  const localQueueSize = options.claimSize ?? settings.localQueueSize;
  const concurrentJobs = Math.min(settings.concurrentJobs, localQueueSize);
  const createNth = createItem(options.payload);
  const handle = createHandler(options.payload);
  let pool: pg.Pool | null = null;
  let runner: Runner | null = null;

  return {
    async setup() {
      const worker = await utils();
      await worker.migrate();
      await worker.release();
    },
    async enqueue() {
      const worker = await utils();
      for (let first = 0; first < itemCount; first += settings.addJobsBatch) {
        const size = Math.min(settings.addJobsBatch, itemCount - first);
        await worker.addJobs(
          Array.from({ length: size }, (_, i) => ({ identifier: 'item', payload: createNth(first + i) })),
        );
      }
      await worker.release();
    },
    // It starts to claim as soon as it runs, so its connections are opened before.
    async prepareWorker() {
      pool = await openPool(databaseUrl, concurrentJobs + 2);
    },
    async startWorker(onFinished) {
      runner = await run({
        logger,
        noHandleSignals: true,
        pgPool: pool!,
        taskList: {
          item: async (payload) => {
            await handle(payload as Item);
            onFinished(1);
          },
        },
        preset: {
          worker: {
            concurrentJobs,
            localQueue: { size: localQueueSize },
            completeJobBatchDelay: settings.completeJobBatchDelayMs,
            failJobBatchDelay: settings.completeJobBatchDelayMs,
          },
        },
      });
    },
    // Completion is batched after the handler, so items are committed once their rows are gone.
    async settle() {
      return waitUntilTrue(
        databaseUrl,
        'select not exists (select from graphile_worker._private_jobs) as value',
      );
    },
    async countFinished() {
      return (
        itemCount -
        (await readNumber(databaseUrl, 'select count(*) as value from graphile_worker._private_jobs'))
      );
    },
    async close() {
      await runner?.stop();
      await pool?.end();
    },
  };
}
