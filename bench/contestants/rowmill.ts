// Rowmill with default settings, through its public API.

import pg from 'pg';
import {
  definePipeline,
  Events,
  type ItemContext,
  openRowmill,
  type Rowmill,
  type RowmillWorker,
} from '../../dist/index.js';
import type { Contestant, ContestantOptions } from '../contestant.ts';
import { createHandler, createItem, type Item } from '../payload.ts';
import { RowmillReaders } from './rowmill-readers.ts';

const FINISH_LAG_ITEMS = 50;
/** Jobs are paused until the start signal. */
const PAUSE = `update jobs set state = 'PAUSED' where state = 'QUEUED'`;
const RESUME = `update jobs set state = 'QUEUED' where state = 'PAUSED'; select pg_notify('rowmill_work', '')`;

function writeLines({ log, seq }: Pick<ItemContext, 'log' | 'seq'>, count: number): void {
  for (let n = 0; n < count; n += 1) log('Looked up the price of an article', { seq, n });
}

export function createContestant(options: ContestantOptions): Contestant {
  const { databaseUrl, itemCount, claimSize } = options;
  const settings = claimSize === null ? {} : { claimMax: claimSize };
  const createNth = createItem(options.payload);
  const handle = createHandler(options.payload);
  const { logLines } = options.payload;
  // The scenario measures stored lines, not the log of the process.
  if (logLines > 0) process.env.LOG_LEVEL = 'warn';
  const pipeline = definePipeline({
    name: 'bench',
    phases: [
      {
        name: 'handle',
        run:
          logLines === 0
            ? (item) => handle(item as unknown as Item)
            : (item, context) => {
                writeLines(context, logLines);
                return handle(item as unknown as Item);
              },
      },
    ],
  });
  let rowmill: Rowmill | null = null;
  let worker: RowmillWorker | null = null;
  let readers: RowmillReaders | null = null;
  let client: pg.Client | null = null;
  const open = async (): Promise<Rowmill> => (rowmill ??= await openRowmill({ databaseUrl, settings }));

  function* items(count: number): Generator<Item> {
    for (let n = 0; n < count; n += 1) yield createNth(n);
  }

  /** Opened before the clock starts. */
  async function connect(): Promise<pg.Client> {
    if (client === null) {
      client = new pg.Client({ connectionString: databaseUrl });
      await client.connect();
    }
    return client;
  }

  /** The job that is drained: the newest of the pipeline. */
  async function findJob(): Promise<string> {
    const sql = `select job_id as id from jobs where pipeline = 'bench' order by created_at desc limit 1`;
    return (await (await connect()).query<{ id: string }>(sql)).rows[0]!.id;
  }

  return {
    async setup() {
      await open();
    },
    async enqueue() {
      const { jobId } = await (await open()).createJob(pipeline);
      await (await open()).addItems(jobId, items(itemCount));
      await (await open()).sealJob(jobId);
      await (await connect()).query(PAUSE);
    },
    // Connections open on first use, so a job of another pipeline uses them once. The claim size of the measured
    // pipeline is still unlearned: its first claim is small, as in production. An idle worker has used none.
    async prepareWorker() {
      const events = new Events();
      await connect();
      if (itemCount === 0) {
        worker = await (await open()).startWorker([pipeline], { events });
        return;
      }
      const warmUp = definePipeline({
        name: `warm-up-${process.pid}`,
        outputs: [],
        phases: [{ name: 'handle', run: () => null }],
      });
      worker = await (await open()).startWorker([pipeline, warmUp], { events });
      await (await open()).whenFinished(await (await open()).submit(warmUp, [{ n: 0 }]));
    },
    async startWorker(onFinished) {
      worker!.events.on('flush.committed', (flush) => onFinished(flush.items));
      await client!.query(RESUME);
    },
    async settle() {
      return null;
    },
    async countFinished() {
      let finished = 0;
      for await (const { status } of (await open()).results(await findJob()))
        if (status !== 'PENDING') finished += 1;
      return finished;
    },
    async close() {
      await readers?.stop();
      await worker?.stop();
      await rowmill?.close();
      await client?.end();
    },
    async measureFinishLag(jobs) {
      const events = new Events();
      worker = await (await open()).startWorker([pipeline], { events });
      let committedMs = 0;
      events.on('flush.committed', () => {
        committedMs = performance.now();
      });
      const lags: number[] = [];
      for (let job = 0; job < jobs; job += 1) {
        const finished = events.next('job.finished').then(() => performance.now());
        await (await open()).submit(pipeline, items(FINISH_LAG_ITEMS));
        lags.push((await finished) - committedMs);
      }
      return lags;
    },
    async addHistory(count) {
      worker = await (await open()).startWorker([pipeline]);
      const jobId = await (await open()).submit(pipeline, items(count), { outputs: [] });
      await (await open()).whenFinished(jobId);
      await worker.stop();
    },
    async startReaders(count) {
      readers = await RowmillReaders.start(databaseUrl, await findJob(), count);
    },
    async stopReaders() {
      return readers!.stop();
    },
  };
}
