// BullMQ on its PostgreSQL backend: one row per job, and one function call per claim and per completion. Completed
// jobs are kept with their return value.
import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import pg from 'pg';
import type { Contestant, ContestantOptions } from '../contestant.ts';
import { createHandler, createItem, type Item } from '../payload.ts';

// One pool connection per concurrent job, as its documentation advises; finished jobs are kept, which is the default.
// It claims and completes jobs one by one, so a bound on the claim changes only the concurrency. Tried with 4,000 and
// 8,000 items, in items/s, on 2 cores with other load, so compare only within a line:
//   concurrency 8 / 16 / 32 / 64 (embedded PG 18)          1116-1291 / 1234-1344 / 974-1260 / 876-918
//   concurrency 8 / 16 / 32 / 64 / 100 (PG 15, busier)     832 / 1331 / 1161 / 939 / 617
//   concurrency 100 on a pool of 4 / 10 / 16 (PG 15)       356 / 563 / 871
//   addBulk of 1,000 / 5,000 / 20,000, two at a time       11,487 / 24,574 / 7,433 enqueued; one at a time 12,694 /
//                                                          20,571 / 7,726; four at a time 15,849 / 22,022 / 9,072
export const bestSettings = { concurrency: 16, poolSize: 16, addBulkBatch: 5_000, addBulkInFlight: 2 };

export function createContestant(options: ContestantOptions, settings = bestSettings): Contestant {
  const name = 'items';
  const concurrency = Math.min(options.claimSize ?? settings.concurrency, settings.concurrency);
  const connection = { connectionString: options.databaseUrl, max: settings.poolSize };
  const createNth = createItem(options.payload);
  const handle = createHandler(options.payload);
  let worker: Worker<Item> | null = null;

  return {
    async setup() {
      const client = new pg.Client({ connectionString: options.databaseUrl });
      await client.connect();
      await runMigrations(client as never);
      await client.end();
    },
    async enqueue() {
      const queue = new Queue(name, { connection }, createPostgresBackend);
      let next = 0;
      const add = async () => {
        while (next < options.itemCount) {
          const first = next;
          const size = Math.min(settings.addBulkBatch, options.itemCount - first);
          next += size;
          await queue.addBulk(
            Array.from({ length: size }, (_, i) => ({ name: 'item', data: createNth(first + i) })),
          );
        }
      };
      await Promise.all(Array.from({ length: settings.addBulkInFlight }, add));
      await queue.close();
    },
    async prepareWorker() {
      worker = new Worker(
        name,
        (job) => handle(job.data),
        { connection, concurrency, autorun: false },
        createPostgresBackend,
      ) as unknown as Worker<Item>;
      worker.on('error', (error) => console.error('bullmq', error));
      await worker.waitUntilReady();
    },
    async startWorker(onFinished) {
      // BullMQ emits 'completed' after the commit.
      worker!.on('completed', () => onFinished(1));
      void worker!.run();
    },
    async settle() {
      return null;
    },
    async countFinished() {
      const queue = new Queue(name, { connection }, createPostgresBackend);
      const count = await queue.getCompletedCount();
      await queue.close();
      return count;
    },
    async close() {
      await worker?.close();
    },
  };
}
