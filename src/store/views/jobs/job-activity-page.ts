import type { Executor, Statement } from '../../../platform/database.ts';
import { cursorTime } from './jobs-page.ts';

// Activity of a job, newest first, after the entry with time $2, kind $3 and number $4. One part per kind of entry,
// combined with union all: each has so few rows per job that they are sorted here. Indexes: audit_by_subject,
// job_events_of_job, callbacks_dead.
const JOB_ACTIVITY_PAGE: Statement = {
  name: 'job-activity-page',
  text: `
    select a.at, a.kind, a.actor, a.action, a.detail, a.number, ${cursorTime('a.at')} as cursor_time
    from (
      select a.at, 'audit' as kind, a.actor, a.action, a.detail, a.audit_id as number
      from audit a where a.subject = 'job ' || $1
      union all
      select e.at, 'event', null, e.kind, e.detail || jsonb_build_object('state', e.state, 'generation', e.generation), e.event_id
      from job_events e where e.job_id = $1::uuid
      union all
      select c.created_at, 'event', null, 'callback.dead',
             jsonb_build_object('callback', c.kind, 'generation', c.generation, 'attempts', c.attempts, 'error', c.last_error),
             c.generation
      from callbacks c where c.job_id = $1::uuid and c.state = 'DEAD'
    ) a
    where $2::timestamptz is null or (a.at, a.kind, a.number) < ($2, $3::text, $4::bigint)
    order by a.at desc, a.kind desc, a.number desc
    limit $5`,
};

export interface ActivityRow {
  at: Date;
  kind: 'audit' | 'event';
  actor: string | null;
  action: string;
  detail: unknown;
  number: number;
  /** `at` in cursor format. */
  cursor_time: string;
}

export async function jobActivityPage(
  db: Executor,
  jobId: string,
  after: readonly [time: string, kind: string, number: number] | null,
  limit: number,
): Promise<ActivityRow[]> {
  const values = [jobId, ...(after ?? [null, null, null]), limit];
  return (await db.run<ActivityRow & Record<string, unknown>>(JOB_ACTIVITY_PAGE, values)).rows;
}
