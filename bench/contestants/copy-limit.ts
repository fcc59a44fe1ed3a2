// A frozen yardstick: only text COPY of the result rows of November 2026 over one connection, one COPY per
// transaction, serialized before the clock starts. PostgreSQL cannot store one such row per outcome faster.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Contestant, ContestantOptions } from '../contestant.ts';
import { createHandler, SMALLEST } from '../payload.ts';
import { COPY_RESULTS, CREATE_RESULTS, resultLine } from './row-of-2026-11.ts';

// The best size for one connection. Tried with 200,000 and 400,000 rows on the embedded PG 18, in thousands of
// rows/s, on 2 cores with other load:
//   rows per transaction 1,000 / 2,000 / 5,000 / 10,000 / 20,000
//   one connection       154   / 182-231 / 210-301 / 200-251 / 233-268
//   two connections      159-196 / 206-240 / 236-289 / 259-305 / 228-303
export const bestSettings = { rowsPerTransaction: 10_000, connections: 1 };

const handle = createHandler(SMALLEST);
const JOB_ID = '0193f4a0-0000-7000-8000-000000000001';
const CHUNK_BYTES = 64 * 1024;

/** The rows of one transaction, serialized before the clock starts and cut into chunks of at least 64 kB. */
async function buildBatch(first: number, end: number): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let chunk = '';
  for (let n = first; n < end; n++) {
    chunk += resultLine(JOB_ID, n, JSON.stringify(await handle({ n })), 0.01);
    if (chunk.length < CHUNK_BYTES && n + 1 < end) continue;
    chunks.push(Buffer.from(chunk));
    chunk = '';
  }
  return chunks;
}

async function copyBatch(client: pg.Client, chunks: readonly Buffer[]): Promise<void> {
  await pipeline(Readable.from(chunks, { objectMode: false }), client.query(copyFrom(COPY_RESULTS)));
}

export function createContestant(options: ContestantOptions, settings = bestSettings): Contestant {
  const clients = Array.from(
    { length: settings.connections },
    () => new pg.Client({ connectionString: options.databaseUrl }),
  );
  let connected: Promise<unknown> | null = null;
  const connect = () => (connected ??= Promise.all(clients.map((client) => client.connect())));
  const batches: { rows: number; chunks: Buffer[] }[] = [];
  let copying: Promise<unknown> = Promise.resolve();

  return {
    async setup() {
      await connect();
      await clients[0]!.query(CREATE_RESULTS);
    },
    enqueue: null,
    async prepareWorker() {
      await connect();
      for (let first = 0; first < options.itemCount; first += settings.rowsPerTransaction) {
        const rows = Math.min(settings.rowsPerTransaction, options.itemCount - first);
        batches.push({ rows, chunks: await buildBatch(first, first + rows) });
      }
    },
    async startWorker(onFinished) {
      const remaining = batches.values();
      copying = Promise.all(
        clients.map(async (client) => {
          for (const { rows, chunks } of remaining) {
            await copyBatch(client, chunks);
            onFinished(rows);
          }
        }),
      );
    },
    async settle() {
      await copying;
      return null;
    },
    async countFinished() {
      await connect();
      const { rows } = await clients[0]!.query<{ n: number }>('select count(*)::int as n from results');
      return rows[0]!.n;
    },
    async close() {
      if (connected) await connected;
      await Promise.all(clients.map((client) => client.end()));
    },
  };
}
