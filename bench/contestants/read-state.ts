// Queries a peer's own tables where its API offers nothing, and opens its connections before the clock starts.
import pg from 'pg';
import { monotonicMs } from '../contestant-client.ts';

async function withClient<T>(databaseUrl: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** A pool whose connections are all open. */
export async function openPool(databaseUrl: string, size: number): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: size });
  const report = (error: Error): void => console.error('bench', error);
  pool.on('error', report);
  pool.on('connect', (client) => client.on('error', report));
  const clients = await Promise.all(Array.from({ length: size }, () => pool.connect()));
  for (const client of clients) client.release();
  return pool;
}

/**
 * Repeats `select ... as value` until it is true. Returns the time when that query was sent, not when its scan
 * finished.
 */
export async function waitUntilTrue(databaseUrl: string, sql: string): Promise<number> {
  return withClient(databaseUrl, async (client) => {
    for (;;) {
      const sentMs = monotonicMs();
      const { rows } = await client.query<{ value: boolean }>(sql);
      if (rows[0]!.value) return sentMs;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  });
}

export async function readNumber(databaseUrl: string, sql: string): Promise<number> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ value: string }>(sql);
    return Number(rows[0]!.value);
  });
}
