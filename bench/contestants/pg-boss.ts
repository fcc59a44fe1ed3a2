// pg-boss: one row per job, updated on fetch and on completion. Completed jobs are kept with their output.
import { PgBoss } from 'pg-boss';
import type { Contestant, ContestantOptions } from '../contestant.ts';
import { createHandler, createItem, type Item } from '../payload.ts';
import { readNumber, waitUntilTrue } from './read-state.ts';

// Large batches through work() with perJobResults, which completes a batch with one output per job in one statement;
// the queue has its own partition. Tried with 30,000 and 40,000 items, in thousands of items/s, on 2 cores with other
// load, so compare only within a line:
//   batch 500 / 2000 / 5000, 1 worker (PG 15)              14-16 / 8-10 / 15-18
//   batch 500 / 2000 / 5000, 3 workers (PG 15)             13-16 / 16 / 19-22
//   the same by fetch() and complete(), one output for all 14-19 / 14-15 / 14-19: no faster, and it loses the results
//   5000 with 1 / 2 / 3 workers (embedded PG 18)           12-17 / 12-29 / 13-27; 2000 with 3 workers 21-28
//   insert in batches of 1,000 / 5,000 / 10,000            31 / 34 / 30-40 enqueued; without partition 16
export const bestSettings = { batchSize: 5_000, localConcurrency: 3, partition: true, insertBatch: 10_000 };

const QUEUE = 'items';
/** The default. */
const POOL_SIZE = 10;

export function createContestant(options: ContestantOptions, settings = bestSettings): Contestant {
  const { databaseUrl, itemCount } = options;
  // The bench uses no cron, so clock and schedule passes are off; maintenance is on, as in production.
  const boss = new PgBoss({ connectionString: databaseUrl, max: POOL_SIZE, schedule: false });
  const createNth = createItem(options.payload);
  const handle = createHandler(options.payload);
  boss.on('error', (error) => console.error('pg-boss', error));

  return {
    async setup() {
      await boss.start();
      await boss.createQueue(QUEUE, { partition: settings.partition });
    },
    async enqueue() {
      await boss.start();
      for (let first = 0; first < itemCount; first += settings.insertBatch) {
        const size = Math.min(settings.insertBatch, itemCount - first);
        await boss.insert(
          QUEUE,
          Array.from({ length: size }, (_, i) => ({ data: createNth(first + i) })),
        );
      }
    },
    async prepareWorker() {
      await boss.start();
      // Opens the connections of its pool.
      await Promise.all(
        Array.from({ length: POOL_SIZE }, () => boss.getDb().executeSql('select pg_sleep(0.05)')),
      );
    },
    async startWorker(onFinished) {
      const work = {
        batchSize: options.claimSize ?? settings.batchSize,
        localConcurrency: settings.localConcurrency,
        burstWhenBatchFull: true,
        perJobResults: true,
      } as const;
      await boss.work<Item, never, typeof work>(QUEUE, work, async (jobs) => {
        const results = await Promise.all(
          jobs.map(async ({ id, data }) => ({
            id,
            status: 'completed' as const,
            output: await handle(data),
          })),
        );
        onFinished(jobs.length);
        return results;
      });
    },
    // The batch is completed after the handler returns.
    async settle() {
      const sql = `select not exists (select from pgboss.job where name = '${QUEUE}' and state < 'completed') as value`;
      return waitUntilTrue(databaseUrl, sql);
    },
    async countFinished() {
      const isFinished = `name = '${QUEUE}' and state = 'completed' and (output->>'ok')::boolean`;
      return readNumber(databaseUrl, `select count(*) as value from pgboss.job where ${isFinished}`);
    },
    async close() {
      await boss.stop({ graceful: false });
    },
  };
}
