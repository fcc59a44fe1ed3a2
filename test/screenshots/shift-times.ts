// Moves what happened to a job into the past and stretches it, so that a minute of running looks like an afternoon.
import type pg from 'pg';

export interface TimeShift {
  /** How long ago the last of it was. */
  agoMinutes: number;
  /** How many times as long it took. */
  stretch: number;
}

const TABLES = [
  'jobs',
  'ledger',
  'results',
  'error_groups',
  'attempt_errors',
  'job_events',
  'audit',
  'summaries',
];

export async function shiftTimes(db: pg.Client, jobId: string, shift: TimeShift): Promise<void> {
  const { rows } = await db.query<{ table: string; column: string }>(
    `select c.table_name as table, c.column_name as column from information_schema.columns c
     where c.table_schema = 'public' and c.table_name = any($1) and c.data_type = 'timestamp with time zone'
       and c.column_name !~ 'expires|until'`,
    [TABLES],
  );
  // The audit refuses to be changed; this is a copy that nobody relies on.
  await db.query('set session_replication_role = replica');
  for (const { table, column } of rows)
    await db.query(
      `update ${table} set ${column} = now() - make_interval(mins => $2) - (now() - ${column}) * $3::float8
       where ${table === 'audit' ? 'subject' : `'job ' || job_id`} = 'job ' || $1`,
      [jobId, shift.agoMinutes, shift.stretch],
    );
  await db.query('set session_replication_role = default');
}

/** People, keys and webhooks were there before all jobs. */
export async function shiftAccounts(db: pg.Client): Promise<void> {
  await db.query('set session_replication_role = replica');
  await db.query(`update audit set at = at - interval '9 days'`);
  for (const table of ['users', 'teams', 'api_keys', 'webhooks'])
    await db.query(`update ${table} set created_at = created_at - interval '9 days'`);
  await db.query('set session_replication_role = default');
}
