// One measured run of one contestant: a fresh database, an enqueueing process, then one or two worker processes.
import type { Entry } from './contestant.ts';
import { ContestantClient, monotonicMs } from './contestant-client.ts';
import {
  createDatabase,
  dropDatabase,
  enableStatementCount,
  levelGround,
  readCounters,
  readStatementCount,
} from './measure.ts';

export interface Scenario {
  key: 'drain' | 'drainSmallClaims' | 'twoWorkers';
  itemCount: number;
  claimSize: number | null;
  workers: 1 | 2;
}

export interface Measurement {
  itemsPerSecond: number;
  enqueuedPerSecond: number | null;
  txPerItem: number;
  deadTuplesPerItem: number;
}

/** A drain without progress for this long has failed. */
const STALL_MS = 60_000;

export async function runScenario(serverUrl: string, entry: Entry, scenario: Scenario): Promise<Measurement> {
  const database = `bench_${entry.key.toLowerCase()}`;
  const databaseUrl = await createDatabase(serverUrl, database);
  const { itemCount, claimSize } = scenario;
  const options = { databaseUrl, itemCount, claimSize };
  const clients: ContestantClient[] = [];
  const open = (): ContestantClient => {
    const client = new ContestantClient(entry, options);
    clients.push(client);
    return client;
  };
  try {
    const producer = open();
    await producer.call('setup');
    const enqueue = await producer.call('enqueue');
    const enqueueMs = enqueue.endedMs - enqueue.startedMs;
    await producer.end();
    await levelGround(databaseUrl);

    const before = await readCounters(serverUrl, database);
    const workers = Array.from({ length: scenario.workers }, open);
    await Promise.all(workers.map((worker) => worker.call('prepareWorker')));
    const drainMs = await drain(entry, workers, itemCount);
    const finished = (await workers[0]!.call('countFinished')).value;
    if (finished !== itemCount)
      throw new Error(`expected ${entry.key} to finish ${itemCount} items, got ${finished}`);
    await Promise.all(workers.map((worker) => worker.end()));
    const after = await readCounters(serverUrl, database);

    return {
      itemsPerSecond: (itemCount / drainMs) * 1000,
      enqueuedPerSecond: enqueueMs === 0 ? null : (itemCount / enqueueMs) * 1000,
      txPerItem: (after.transactions - before.transactions) / itemCount,
      deadTuplesPerItem: (after.deadTuples - before.deadTuples) / itemCount,
    };
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    await dropDatabase(serverUrl, database);
  }
}

/** Milliseconds from the start signal until the outcome of the last item is committed. */
async function drain(entry: Entry, workers: readonly ContestantClient[], itemCount: number): Promise<number> {
  const startedMs = monotonicMs();
  await new Promise<void>((resolve, reject) => {
    const stall = setTimeout(() => {
      const finished = workers.reduce((sum, worker) => sum + worker.finished, 0);
      reject(new Error(`expected ${entry.key} to drain ${itemCount} items, but it is stuck at ${finished}`));
    }, STALL_MS);
    for (const worker of workers) {
      worker.onProgress = () => {
        stall.refresh();
        if (workers.reduce((sum, each) => sum + each.finished, 0) < itemCount) return;
        clearTimeout(stall);
        resolve();
      };
      worker.call('startWorker').catch(reject);
    }
  });
  const endsMs = await Promise.all(
    workers.map(
      async (worker) => ((await worker.call('settle')).value as number | null) ?? worker.lastFinishedMs,
    ),
  );
  return Math.max(...endsMs) - startedMs;
}

/** Statements per second of one ready worker on an empty queue. All contestants idle at the same time. */
export async function measureIdle(
  serverUrl: string,
  entries: readonly Entry[],
  seconds: number,
): Promise<Record<string, number>> {
  const idle = entries.map((entry) => ({ entry, database: `bench_idle_${entry.key.toLowerCase()}` }));
  const clients: ContestantClient[] = [];
  try {
    for (const { entry, database } of idle) {
      const databaseUrl = await createDatabase(serverUrl, database);
      await enableStatementCount(serverUrl, database);
      const client = new ContestantClient(entry, { databaseUrl, itemCount: 0, claimSize: null });
      clients.push(client);
      await client.call('setup');
      await client.call('prepareWorker');
      await client.call('startWorker');
    }
    const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    await sleep(3_000);
    const before = await Promise.all(idle.map(({ database }) => readStatementCount(serverUrl, database)));
    await sleep(seconds * 1_000);
    const after = await Promise.all(idle.map(({ database }) => readStatementCount(serverUrl, database)));
    return Object.fromEntries(idle.map(({ entry }, i) => [entry.key, (after[i]! - before[i]!) / seconds]));
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    for (const { database } of idle) await dropDatabase(serverUrl, database);
  }
}

/** 99th percentile over small jobs, or null if a contestant has no jobs of many items. */
export async function measureFinishLag(
  serverUrl: string,
  entry: Entry,
  jobs: number,
): Promise<number | null> {
  const database = `bench_lag_${entry.key.toLowerCase()}`;
  const databaseUrl = await createDatabase(serverUrl, database);
  const client = new ContestantClient(entry, { databaseUrl, itemCount: 0, claimSize: null });
  try {
    await client.call('setup');
    const { value } = await client.call('measureFinishLag', jobs);
    if (!Array.isArray(value) || value.length === 0) return null;
    const sorted = value.toSorted((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.99) - 1]!;
  } finally {
    await client.end();
    await dropDatabase(serverUrl, database);
  }
}
