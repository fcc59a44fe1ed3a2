import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Index: jobs_by_owner.
const LIST_OWNER_JOBS: Statement = {
  name: 'list-owner-jobs',
  text: 'select job_id, state from jobs where owner_id = $1 order by created_at, job_id limit $2',
};

const LIST_OWNER_UPLOADS: Statement = {
  name: 'list-owner-uploads',
  text: 'select upload_id from uploads where owner_id = $1',
};

// Secrets of webhooks stay in the database.
const READ_OWNER: Statement = {
  name: 'read-owner',
  text: `
    select jsonb_build_object(
      'limits', (select to_jsonb(o) from owners o where o.owner_id = $1),
      'webhooks', (select coalesce(jsonb_agg(to_jsonb(w) - 'secret' - 'old_secret' order by w.created_at), '[]')
        from webhooks w where w.owner_id = $1),
      'uploads', (select coalesce(jsonb_agg(to_jsonb(u) order by u.created_at), '[]') from uploads u where u.owner_id = $1),
      'spent', (select coalesce(jsonb_agg(to_jsonb(b)), '[]') from budgets b where b.scope in ('owner:' || $1, 'day:' || $1))
    )`,
};

// Lists without a bound, read page by page by their id.
export const OWNER_LISTS = {
  events: list('owner-events', 'event_id', 'job_events', 'owner_id = $1'),
  counters: {
    name: 'owner-counters',
    text: `
      select t.entry_id, jsonb_build_object('counter', c.name, 'scope', t.scope, 'entity', t.entity,
        'measures', c.measures, 'measured', t.measured, 'updatedAt', t.updated_at)
      from counter_entries t join counters c using (counter_id)
      where t.owner_id = $1 and t.entry_id > $2 order by 1 limit $3`,
  },
  audit: list(
    'owner-audit',
    'audit_id',
    'audit',
    `(actor = $1 or subject = 'owner ' || $1 or detail ->> 'ownerId' = $1)`,
  ),
} as const satisfies Record<string, Statement>;

function list(name: string, id: string, table: string, condition: string): Statement {
  const text = `select ${id}, to_jsonb(t) from ${table} t where ${condition} and ${id} > $2 order by 1 limit $3`;
  return { name, text };
}

export async function listOwnerJobs(
  db: Executor,
  ownerId: string,
  limit: number,
): Promise<{ jobId: string; state: JobState }[]> {
  const rows = await db.runArrays(LIST_OWNER_JOBS, [ownerId, limit]);
  return rows.map(([jobId, state]) => ({ jobId: jobId as string, state: state as JobState }));
}

export async function listOwnerUploads(db: Executor, ownerId: string): Promise<string[]> {
  return (await db.runArrays(LIST_OWNER_UPLOADS, [ownerId])).map(([uploadId]) => uploadId as string);
}

export async function readOwner(db: Executor, ownerId: string): Promise<object> {
  return (await db.runArrays(READ_OWNER, [ownerId]))[0]![0] as object;
}

/** The next entries after `afterId`, with their ids. */
export async function readOwnerList(
  db: Executor,
  statement: Statement,
  { ownerId, afterId, limit }: { ownerId: string; afterId: number; limit: number },
): Promise<{ id: number; entry: object }[]> {
  const rows = await db.runArrays(statement, [ownerId, afterId, limit]);
  return rows.map(([id, entry]) => ({ id: id as number, entry: entry as object }));
}
