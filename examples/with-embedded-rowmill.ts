// Shared by the example runs: an embedded PostgreSQL in .rowmill, and Rowmill on it.
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import {
  openRowmill,
  type Pipeline,
  type ResultRow,
  type Rowmill,
  type RowmillWorker,
  startEmbeddedPostgres,
} from 'rowmill';

export interface EmbeddedRowmill {
  rowmill: Rowmill;
  databaseUrl: string;
  /** Data folder, which also holds the files of jobs. */
  dataDir: string;
}

export async function withEmbeddedRowmill(
  example: string,
  work: (embedded: EmbeddedRowmill) => Promise<void>,
): Promise<void> {
  mkdirSync('out', { recursive: true });
  const dataDir = resolve('.rowmill', `example-${example}`);
  const server = await startEmbeddedPostgres({ dataDir, onLog: (line) => console.error(line) });
  try {
    await empty(server.url, dataDir);
    // Callbacks of pipelines find the database by it, as they do in workers started with it.
    process.env.DATABASE_URL = server.url;
    const settings = { blobStore: join(dataDir, 'blobs') };
    const rowmill = await openRowmill({ databaseUrl: server.url, settings });
    try {
      await work({ rowmill, databaseUrl: server.url, dataDir });
    } finally {
      await rowmill.close();
    }
  } finally {
    await server.stop();
  }
}

/** Empties the database: unfinished jobs of an earlier run would run first. */
async function empty(databaseUrl: string, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('drop schema public cascade; create schema public');
  } finally {
    await client.end();
  }
  await rm(join(dataDir, 'blobs'), { recursive: true, force: true });
}

/** Runs a worker in this process for as long as the work takes. */
export async function withWorker<T>(
  rowmill: Rowmill,
  pipelines: Pipeline[],
  work: (worker: RowmillWorker) => Promise<T>,
): Promise<T> {
  const worker = await rowmill.startWorker(pipelines);
  try {
    return await work(worker);
  } finally {
    await worker.stop();
  }
}

/** Prints the progress every second until the job is finished. */
export async function printProgress(rowmill: Rowmill, jobId: string, what: string): Promise<void> {
  const print = async (): Promise<void> => {
    const { counts, itemCount } = await rowmill.progress(jobId);
    const open = counts.PENDING + counts.PROCESSING;
    console.log(`  ${what}: ${itemCount - open} of ${itemCount} rows`);
  };
  const timer = setInterval(() => void print().catch(() => {}), 1000);
  try {
    await rowmill.whenFinished(jobId);
  } finally {
    clearInterval(timer);
  }
}

export async function allResults<Result>(
  rowmill: Rowmill,
  jobId: string,
  pipeline: Pipeline<unknown, unknown, Result>,
): Promise<ResultRow<Result>[]> {
  const rows: ResultRow<Result>[] = [];
  for await (const row of rowmill.results(jobId, pipeline)) rows.push(row);
  return rows;
}
