// Database privileges of workers and the API: two group roles, and logins that are members of them. Workers run
// pipeline code, so they cannot see accounts and webhooks. Neither role can change or delete audit entries.
import pg from 'pg';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { driverClient } from '../platform/database-servers.ts';

export const API_ROLE = 'rowmill_api';
export const WORKER_ROLE = 'rowmill_worker';

/** Tables only the API can access. */
const ACCOUNT_TABLES = [
  'api_keys',
  'deliveries',
  'idempotency_keys',
  'sessions',
  'setup_token',
  'sign_in_attempts',
  'teams',
  'upload_parts',
  'users',
];
/** Tables both can access. */
const WORK_TABLES = [
  'attempt_errors',
  'budgets',
  'callbacks',
  'counter_contributions',
  'counter_entities',
  'counter_entries',
  'counter_scope_deltas',
  'counter_scopes',
  'counters',
  'error_groups',
  'event_positions',
  'exports',
  'file_sets',
  'generations',
  'item_edits',
  'items',
  'job_events',
  'job_removals',
  'jobs',
  'ledger',
  'line_runs',
  'owners',
  'rejected_rows',
  'resource_overrides',
  'resource_samples',
  'resources',
  'result_blocks',
  'result_columns',
  'result_rows',
  'source_files',
  'spans',
  'stage_outputs',
  'summaries',
  'trace_blocks',
  'workers',
];
const EVERYTHING = 'select, insert, update, delete';

/** Privileges on a table; null for none. Undefined for a table that is not listed here. */
export function privilegesOn(
  table: string,
): { [API_ROLE]: string; [WORKER_ROLE]: string | null } | undefined {
  if (table === 'cursor_keys') return { [API_ROLE]: 'select', [WORKER_ROLE]: null };
  if (table === 'audit') return { [API_ROLE]: 'select, insert', [WORKER_ROLE]: 'insert' };
  // A view.
  if (table === 'results') return { [API_ROLE]: 'select', [WORKER_ROLE]: 'select' };
  if (table === 'rowmill_migrations') return { [API_ROLE]: 'select', [WORKER_ROLE]: 'select' };
  // Workers delete old events, except those that webhooks have not taken yet.
  if (table === 'webhook_intake') return { [API_ROLE]: EVERYTHING, [WORKER_ROLE]: 'select' };
  if (table === 'webhooks') return { [API_ROLE]: EVERYTHING, [WORKER_ROLE]: 'select (webhook_id)' };
  // Workers delete parts whose upload is gone.
  if (table === 'uploads') return { [API_ROLE]: EVERYTHING, [WORKER_ROLE]: 'select (upload_id)' };
  if (ACCOUNT_TABLES.includes(table)) return { [API_ROLE]: EVERYTHING, [WORKER_ROLE]: null };
  if (WORK_TABLES.includes(table)) return { [API_ROLE]: EVERYTHING, [WORKER_ROLE]: EVERYTHING };
  return undefined;
}

export interface Logins {
  worker?: string | undefined;
  api?: string | undefined;
}

/** Creates the group roles if they are missing, sets their privileges, and adds the logins. May be repeated. */
export async function grantRoles(databaseUrl: string, { worker, api }: Logins): Promise<void> {
  if (worker !== undefined && worker === api)
    throw refusal('expected two logins, one for workers and one for the API');
  for (const login of [worker, api])
    if (login === API_ROLE || login === WORKER_ROLE)
      throw new RowmillError('SETTINGS_INVALID', `${login} is the role that grant creates`, {
        hint: 'Name a login of your own, such as mill_worker. See docs/accounts.md.',
      });
  const client = new (driverClient(databaseUrl))({
    connectionString: databaseUrl,
    application_name: 'rowmill grant',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('begin');
    // Roles belong to the whole server, and two of its databases may be granted at the same time.
    await client.query(`select pg_advisory_xact_lock(hashtext('rowmill grant'))`);
    for (const role of [API_ROLE, WORKER_ROLE]) await makeRole(client, role);
    await grantTables(client);
    if (worker !== undefined) await letIn(client, worker, WORKER_ROLE, API_ROLE);
    if (api !== undefined) await letIn(client, api, API_ROLE, WORKER_ROLE);
    await client.query('commit');
  } catch (error) {
    if ((error as { code?: string }).code === '42501')
      throw refusal('this login may not create roles or grant privileges on these tables', error);
    throw error;
  } finally {
    // Rolls back a transaction that was not committed.
    await client.end().catch(() => {});
  }
}

async function makeRole(client: pg.Client, role: string): Promise<void> {
  const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1', [role]);
  if (rowCount === 0) await client.query(`create role ${role} nologin`);
}

async function grantTables(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ schema: string; name: string }>(
    `select table_schema as schema, table_name as name from information_schema.tables
     where table_schema = current_schema() order by table_name`,
  );
  const schema = pg.escapeIdentifier(rows[0]?.schema ?? 'public');
  await client.query(`grant usage on schema ${schema} to ${API_ROLE}, ${WORKER_ROLE}`);
  for (const { name } of rows) {
    const table = `${schema}.${pg.escapeIdentifier(name)}`;
    const privileges = privilegesOn(name);
    if (!privileges) continue;
    for (const role of [API_ROLE, WORKER_ROLE] as const) {
      await client.query(`revoke all on ${table} from ${role}`);
      if (privileges[role] !== null) await client.query(`grant ${privileges[role]} on ${table} to ${role}`);
    }
  }
}

async function letIn(client: pg.Client, login: string, role: string, other: string): Promise<void> {
  const { rows } = await client.query<{ is_free: boolean; is_in_other: boolean }>(
    `select rolsuper or exists (
              select from pg_tables t
              where schemaname = current_schema() and tablename = 'users' and pg_has_role(rolname, t.tableowner, 'member')
            ) as is_free,
            pg_has_role(rolname, $2, 'member') as is_in_other
     from pg_roles where rolname = $1`,
    [login, other],
  );
  const found = rows[0];
  if (!found) throw refusal(`there is no login ${login} in the database`);
  if (found.is_free)
    throw refusal(`${login} is a superuser or owns the tables: no grant keeps it from anything`);
  if (found.is_in_other) throw refusal(`${login} is already a member of ${other}`);
  await client.query(`grant ${role} to ${pg.escapeIdentifier(login)}`);
}

function refusal(message: string, cause?: unknown): RowmillError {
  return new RowmillError('SETTINGS_INVALID', message, {
    hint: 'See docs/accounts.md for how to create the logins and which one grants.',
    cause,
  });
}
