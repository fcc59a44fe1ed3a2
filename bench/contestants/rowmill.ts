// Rowmill with default settings, through its public API.

import pg from 'pg';
import { definePipeline, Events, openRowmill, type Rowmill, type RowmillWorker } from '../../dist/index.js';
import { type Contestant, type ContestantOptions, handleItem } from '../contestant.ts';

const pipeline = definePipeline({
  name: 'bench',
  phases: [{ name: 'handle', run: (item) => handleItem(item as { n: number }) }],
});
const FINISH_LAG_ITEMS = 50;

function* items(count: number): Generator<{ n: number }> {
  for (let n = 0; n < count; n += 1) yield { n };
}

export function createContestant({ databaseUrl, itemCount, claimSize }: ContestantOptions): Contestant {
  const settings = claimSize === null ? {} : { claimMax: claimSize };
  let rowmill: Rowmill | null = null;
  let worker: RowmillWorker | null = null;
  const open = async (): Promise<Rowmill> => (rowmill ??= await openRowmill({ databaseUrl, settings }));

  async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const { rows } = await client.query<Row>(text, values);
    await client.end();
    return rows;
  }

  /** Jobs are paused until the start signal. */
  async function moveJobs(from: string, to: string): Promise<void> {
    await query('update jobs set state = $2::job_state where state = $1::job_state', [from, to]);
    await query(`select pg_notify('rowmill_work', '')`);
  }

  return {
    async setup() {
      await open();
    },
    async enqueue() {
      const { jobId } = await (await open()).createJob(pipeline);
      await (await open()).addItems(jobId, items(itemCount));
      await (await open()).sealJob(jobId);
      await moveJobs('QUEUED', 'PAUSED');
    },
    async prepareWorker() {
      const events = new Events();
      worker = await (await open()).startWorker([pipeline], { events });
    },
    async startWorker(onFinished) {
      worker!.events.on('flush.committed', (flush) => onFinished(flush.items));
      await moveJobs('PAUSED', 'QUEUED');
    },
    async settle() {
      return null;
    },
    async countFinished() {
      return Number((await query<{ n: string }>('select count(*) as n from results'))[0]!.n);
    },
    async close() {
      await worker?.stop();
      await rowmill?.close();
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
  };
}
