// Reads the server's own counters: transactions, dead row versions, statements. Also creates and drops the databases.
import pg from 'pg';

export interface Counters {
  transactions: number;
  deadTuples: number;
}

export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'bench-measure' });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

export interface ServerFacts {
  version: string;
  settings: Record<string, string>;
}

const SETTINGS = [
  'synchronous_commit',
  'fsync',
  'shared_buffers',
  'max_wal_size',
  'autovacuum',
  'shared_preload_libraries',
];

/** Refuses a server without durable commits, because its numbers would not be comparable. */
export async function readServerFacts(serverUrl: string): Promise<ServerFacts> {
  return withClient(serverUrl, async (client) => {
    const { rows } = await client.query<{ name: string; setting: string }>(
      'select name, current_setting(name) as setting from pg_settings where name = any($1)',
      [SETTINGS],
    );
    const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
    for (const name of ['synchronous_commit', 'fsync']) {
      if (settings[name] !== 'on') throw new Error(`expected ${name} to be on, got ${settings[name]}`);
    }
    const version = await client.query<{ server_version: string }>('show server_version');
    return { version: version.rows[0]!.server_version, settings };
  });
}

export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  await withClient(serverUrl, async (client) => {
    await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`create database ${name}`);
  });
  return urlOf(serverUrl, name);
}

export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`));
}

/** Same starting point for every contestant: fresh statistics, and no checkpoint pending from the previous run. */
export async function levelGround(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query('vacuum analyze');
    await client.query('checkpoint');
  });
}

/** Removes dead row versions, so that the size of the tables is the size of what they hold. */
export async function vacuum(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) => client.query('vacuum'));
}

/**
 * Counters of one database. Backends report their statistics when they exit, so call this after the contestant closed
 * its connections; it waits until they are gone. Every update and delete leaves one dead row version; n_dead_tup
 * would miss those that vacuum or page pruning already removed.
 */
export async function readCounters(serverUrl: string, name: string): Promise<Counters> {
  await withClient(serverUrl, async (client) => {
    for (;;) {
      const { rows } = await client.query<{ n: number }>(
        "select count(*)::int as n from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
        [name],
      );
      if (rows[0]!.n === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  return withClient(urlOf(serverUrl, name), async (client) => {
    const { rows } = await client.query<{ transactions: string; dead_tuples: string }>(`
      select (select xact_commit + xact_rollback from pg_stat_database where datname = current_database()) as transactions,
             (select coalesce(sum(n_tup_upd + n_tup_del), 0) from pg_stat_user_tables) as dead_tuples`);
    return { transactions: Number(rows[0]!.transactions), deadTuples: Number(rows[0]!.dead_tuples) };
  });
}

/**
 * Enables statement counting for new sessions of this database only, so it costs the throughput runs nothing. Needs
 * pg_stat_statements in shared_preload_libraries.
 */
export async function enableStatementCount(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    await client.query('create extension if not exists pg_stat_statements');
    await client.query(`alter database ${name} set pg_stat_statements.track = 'top'`);
  });
}

export async function readStatementCount(serverUrl: string, name: string): Promise<number> {
  return withClient(serverUrl, async (client) => {
    const { rows } = await client.query<{ calls: string }>(
      `select coalesce(sum(calls), 0) as calls from pg_stat_statements
       where dbid = (select oid from pg_database where datname = $1)`,
      [name],
    );
    return Number(rows[0]!.calls);
  });
}
