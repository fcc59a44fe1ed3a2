// One measured run of one contestant: a fresh database, an enqueueing process, then worker processes.
import pg from 'pg';
import type { Entry } from './contestant.ts';
import { ContestantClient, monotonicMs } from './contestant-client.ts';
import {
  createDatabase,
  dropDatabase,
  enableStatementCount,
  levelGround,
  readCounters,
  readStatementCount,
  vacuum,
} from './measure.ts';
import { SMALLEST } from './payload.ts';
import type { Scenario } from './scenarios.ts';
import { readServerLoad, readStoredBytes, type ServerLoad } from './server-load.ts';

export interface Measurement {
  itemsPerSecond: number;
  enqueuedPerSecond: number | null;
  txPerItem: number;
  deadTuplesPerItem: number;
  workerCpuUsPerItem: number;
  serverCpuUsPerItem: number | null;
  walBytesPerItem: number;
  /** Growth of all tables by the drain, after a vacuum. */
  storedBytesPerItem: number;
  /** Growth of all tables by enqueueing. */
  itemBytesPerItem: number;
  /** Null if the contestant does not report commits. */
  itemsPerCommit: number | null;
  pageMsP99: number | null;
}

/** A drain without progress for this long has failed. */
const STALL_MS = 60_000;

export async function runScenario(serverUrl: string, entry: Entry, scenario: Scenario): Promise<Measurement> {
  const database = `bench_${entry.key.toLowerCase()}`;
  const databaseUrl = await createDatabase(serverUrl, database);
  const { itemCount, claimSize, payload } = scenario;
  const options = { databaseUrl, itemCount, claimSize, payload };
  const clients: ContestantClient[] = [];
  const open = (): ContestantClient => {
    const client = new ContestantClient(entry, options);
    clients.push(client);
    return client;
  };
  let snapshot: pg.Client | null = null;
  try {
    const producer = open();
    await producer.call('setup');
    if (scenario.history > 0) {
      await producer.call('addHistory', scenario.history);
      await levelGround(databaseUrl);
    }
    const bytesAtFirst = await readStoredBytes(databaseUrl);
    const enqueue = await producer.call('enqueue');
    const enqueueMs = enqueue.endedMs - enqueue.startedMs;
    await producer.end();
    await levelGround(databaseUrl);

    const before = await readCounters(serverUrl, database);
    const bytesBefore = await readStoredBytes(databaseUrl);
    if (scenario.holdsSnapshot) snapshot = await holdSnapshot(databaseUrl);
    const workers = Array.from({ length: scenario.workers }, open);
    await Promise.all(workers.map((worker) => worker.call('prepareWorker')));
    const reader = scenario.readers > 0 ? open() : null;
    await reader?.call('startReaders', scenario.readers);

    const load = await readLoad(serverUrl, workers);
    const { ms: drainMs, commits } = await drain(entry, workers, itemCount);
    const loadAfter = await readLoad(serverUrl, workers);

    const pages = reader ? ((await reader.call('stopReaders')).value as number[]) : [];
    const finished = (await workers[0]!.call('countFinished')).value;
    if (finished !== itemCount)
      throw new Error(`expected ${entry.key} to finish ${itemCount} items, got ${finished}`);
    await Promise.all(clients.map((client) => client.end()));
    await snapshot?.end();
    snapshot = null;
    const after = await readCounters(serverUrl, database);
    await vacuum(databaseUrl);
    const bytesAfter = await readStoredBytes(databaseUrl);

    const perItem = (total: number): number => total / itemCount;
    const [cpuMs, cpuMsAfter] = [load.cpuMs, loadAfter.cpuMs];
    return {
      itemsPerSecond: (itemCount / drainMs) * 1000,
      enqueuedPerSecond: enqueueMs === 0 ? null : (itemCount / enqueueMs) * 1000,
      txPerItem: perItem(after.transactions - before.transactions),
      deadTuplesPerItem: perItem(after.deadTuples - before.deadTuples),
      workerCpuUsPerItem: perItem((loadAfter.workerCpuMs - load.workerCpuMs) * 1000),
      serverCpuUsPerItem: cpuMs === null || cpuMsAfter === null ? null : perItem((cpuMsAfter - cpuMs) * 1000),
      walBytesPerItem: perItem(loadAfter.walBytes - load.walBytes),
      storedBytesPerItem: perItem(bytesAfter - bytesBefore),
      itemBytesPerItem: perItem(bytesBefore - bytesAtFirst),
      itemsPerCommit: commits === null ? null : itemCount / commits,
      pageMsP99: quantile99(pages),
    };
  } finally {
    await Promise.all(clients.map((client) => client.end()));
    await snapshot?.end();
    await dropDatabase(serverUrl, database);
  }
}

/** An old transaction: no row version that it could still see is removed. */
async function holdSnapshot(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select count(*) from pg_class');
  return client;
}

async function readLoad(
  serverUrl: string,
  workers: readonly ContestantClient[],
): Promise<ServerLoad & { workerCpuMs: number }> {
  const cpuMs = await Promise.all(workers.map(async (worker) => (await worker.call('readCpuMs')).value));
  return {
    ...(await readServerLoad(serverUrl)),
    workerCpuMs: (cpuMs as number[]).reduce((sum, ms) => sum + ms, 0),
  };
}

/**
 * Milliseconds from the start signal until the outcome of the last item is committed, and the number of commits if the
 * contestant reports each.
 */
async function drain(
  entry: Entry,
  workers: readonly ContestantClient[],
  itemCount: number,
): Promise<{ ms: number; commits: number | null }> {
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
  const settledMs = await Promise.all(
    workers.map(async (worker) => (await worker.call('settle')).value as number | null),
  );
  const endsMs = workers.map((worker, at) => settledMs[at] ?? worker.lastFinishedMs);
  const reportsCommits = settledMs.every((ms) => ms === null);
  return {
    ms: Math.max(...endsMs) - startedMs,
    commits: reportsCommits ? workers.reduce((sum, { reports }) => sum + reports, 0) : null,
  };
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
      const client = new ContestantClient(entry, {
        databaseUrl,
        itemCount: 0,
        claimSize: null,
        payload: SMALLEST,
      });
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
  const client = new ContestantClient(entry, {
    databaseUrl,
    itemCount: 0,
    claimSize: null,
    payload: SMALLEST,
  });
  try {
    await client.call('setup');
    const { value } = await client.call('measureFinishLag', jobs);
    return Array.isArray(value) ? quantile99(value) : null;
  } finally {
    await client.end();
    await dropDatabase(serverUrl, database);
  }
}

function quantile99(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? null;
}
