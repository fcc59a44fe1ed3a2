// The statements of `rowmill doctor` about the server itself. They read only statistics and catalogs, so they take the
// same time on a database of any size, except for the sizes of files, which the server asks of its file system.
import type {
  ConnectionFacts,
  HeldTransaction,
  IndexFacts,
  ServerFacts,
  SlotFacts,
  TableFacts,
} from '../../../core/health/database-facts.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { indexesOfMigrations } from '../../indexes-of-migrations.ts';

// Times in milliseconds, as pg_settings gives them.
const READ_SERVER: Statement = {
  name: 'read-server',
  text: `
    select current_setting('server_version_num')::int as "versionNumber", split_part(current_setting('server_version'), ' ', 1) as version,
      now() as now, pg_is_in_recovery() as "isStandby",
      (select age(datfrozenxid) from pg_database where datname = current_database()) as "frozenAge",
      (select jsonb_object_agg(name, setting) from pg_settings where name = any ($1)) as settings`,
};

const READ_SETTINGS = [
  'fsync',
  'full_page_writes',
  'autovacuum',
  'track_counts',
  'synchronous_commit',
  'synchronous_standby_names',
  'default_transaction_read_only',
  'lock_timeout',
  'transaction_timeout',
  'idle_session_timeout',
];

export async function readServerFacts(db: Executor): Promise<ServerFacts> {
  return (await db.run<ServerFacts & Record<string, unknown>>(READ_SERVER, [READ_SETTINGS])).rows[0]!;
}

const READ_CONNECTIONS: Statement = {
  name: 'read-connections',
  text: `
    select count(*) as open, count(*) filter (where a.query = '<insufficient privilege>') as hidden,
      count(*) filter (where a.datname = current_database()
        and a.application_name in ('rowmill claim', 'rowmill flush', 'rowmill control')) as "ofWorkers",
      current_setting('max_connections')::int as "maxConnections",
      (select coalesce(sum(setting::int), 0) from pg_settings
       where name in ('superuser_reserved_connections', 'reserved_connections')) as reserved,
      (select count(*) from workers where heartbeat_at > now() - $1::float8 * interval '1 millisecond') as "workersAlive"
    from pg_stat_activity a where a.backend_type = 'client backend' and a.pid <> pg_backend_pid()`,
};

export async function readConnections(db: Executor, silentMs: number): Promise<ConnectionFacts> {
  return (await db.run<ConnectionFacts & Record<string, unknown>>(READ_CONNECTIONS, [silentMs])).rows[0]!;
}

// Sessions of other databases do not keep rows of this one. A vacuum does not wait for another vacuum.
const LIST_TRANSACTIONS: Statement = {
  name: 'list-transactions',
  text: `
    select * from (
      select format('session %s of %s', pid, coalesce(nullif(application_name, ''), usename, backend_type)) as holder,
        extract(epoch from clock_timestamp() - xact_start)::float8 * 1000 as "ageMs",
        coalesce(state, backend_type) as state, format('select pg_terminate_backend(%s)', pid) as "endWith"
      from pg_stat_activity
      where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
        and backend_type <> 'autovacuum worker'
      union all
      select format('the prepared transaction %L', gid), extract(epoch from clock_timestamp() - prepared)::float8 * 1000,
        'prepared', format('rollback prepared %L', gid)
      from pg_prepared_xacts where database = current_database()
    ) t order by "ageMs" desc limit 20`,
};

export async function listHeldTransactions(db: Executor): Promise<HeldTransaction[]> {
  return (await db.run<HeldTransaction & Record<string, unknown>>(LIST_TRANSACTIONS)).rows;
}

const LIST_SLOTS: Statement = {
  name: 'list-replication-slots',
  text: `
    select slot_name as name, active, wal_status as "walStatus", xmin is not null or catalog_xmin is not null as "holdsRows",
      case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint end as "retainedBytes"
    from pg_replication_slots where not temporary order by slot_name limit 100`,
};

export async function listSlots(db: Executor): Promise<SlotFacts[]> {
  return (await db.run<SlotFacts & Record<string, unknown>>(LIST_SLOTS)).rows;
}

// Only tables in the schema of jobs: others are not Rowmill's.
const LIST_TABLES: Statement = {
  name: 'list-tables',
  text: `
    select c.relname as name, pg_relation_size(c.oid) as "heapBytes", pg_total_relation_size(c.oid) as "totalBytes",
      coalesce(t.n_live_tup, 0) as "liveRows", coalesce(t.n_dead_tup, 0) as "deadRows",
      greatest(t.last_vacuum, t.last_autovacuum) as "lastVacuum",
      c.reltuples >= 0 or t.last_analyze is not null or t.last_autoanalyze is not null as "isAnalyzed",
      coalesce('autovacuum_enabled=false' = any (c.reloptions) or 'autovacuum_enabled=off' = any (c.reloptions), false) as "autovacuumOff"
    from pg_class c left join pg_stat_all_tables t on t.relid = c.oid
    where c.relkind = 'r' and c.relnamespace = (select relnamespace from pg_class where oid = 'jobs'::regclass)
    order by pg_relation_size(c.oid) desc, c.relname limit 1000`,
};

export async function listTables(db: Executor): Promise<TableFacts[]> {
  return (await db.run<TableFacts & Record<string, unknown>>(LIST_TABLES)).rows;
}

const LIST_INDEXES: Statement = {
  name: 'list-indexes',
  text: `
    select c.relname as name, x.indisvalid and x.indisready as valid
    from pg_index x join pg_class c on c.oid = x.indexrelid
    where c.relnamespace = (select relnamespace from pg_class where oid = 'jobs'::regclass)`,
};

export async function readIndexFacts(db: Executor): Promise<IndexFacts> {
  const { rows } = await db.run<{ name: string; valid: boolean }>(LIST_INDEXES);
  const present = new Set(rows.map(({ name }) => name));
  return {
    missing: indexesOfMigrations().filter((name) => !present.has(name)),
    invalid: rows.filter(({ valid }) => !valid).map(({ name }) => name),
  };
}

const READ_DATABASE_SIZE: Statement = {
  name: 'read-database-size',
  text: 'select pg_database_size(current_database()) as bytes',
};

export async function readDatabaseSize(db: Executor): Promise<number> {
  return (await db.run<{ bytes: number }>(READ_DATABASE_SIZE)).rows[0]!.bytes;
}
