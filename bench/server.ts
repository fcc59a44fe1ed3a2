// The PostgreSQL server of the bench: an embedded one in a new directory, or the server in BENCH_DATABASE_URL (not
// DATABASE_URL, because the bench creates and drops databases and loads the server).
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Server {
  url: string;
  stop(): Promise<void>;
}

// Ordinary durable settings, the same for all contestants. pg_stat_statements is loaded, but counts only in databases
// where measure.ts enables it.
const SETTINGS = {
  synchronous_commit: 'on',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  max_connections: '200',
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'none',
};

const EMBEDDED = '../src/platform/embedded-postgres/start-embedded-postgres.ts';

interface EmbeddedModule {
  startEmbeddedPostgres(options: { dataDir: string; settings: Record<string, string> }): Promise<Server>;
}

export async function openServer(): Promise<Server> {
  const url = process.env.BENCH_DATABASE_URL;
  if (url !== undefined && url !== '') return { url, stop: async () => {} };

  const { startEmbeddedPostgres } = (await import(EMBEDDED)) as EmbeddedModule;
  const directory = await mkdtemp(join(tmpdir(), 'rowmill-bench-'));
  const server = await startEmbeddedPostgres({ dataDir: join(directory, 'data'), settings: SETTINGS });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
