import type { Executor, Statement } from '../../../platform/database.ts';
import { type StoredJobEvent, toEvent } from '../../views/events/read-job-events.ts';
import type { WebhookFormat } from '../../views/events/read-webhooks.ts';

const HAS_UNTAKEN: Statement = {
  name: 'has-untaken-events',
  text: 'select 1 from event_positions p, webhook_intake i where p.last > i.taken',
};

// One process at a time; the others skip.
const LOCK_INTAKE: Statement = {
  name: 'lock-webhook-intake',
  text: 'select taken from webhook_intake for update skip locked',
};

// One row per event and subscribed webhook, or one row without a webhook. Events from before a webhook was created
// are not sent to it. Indexes: job_events_by_position, webhooks_by_owner, jobs_pkey.
const EVENTS_TO_TELL: Statement = {
  name: 'events-to-tell',
  text: `
    select e.event_id, e.position, e.kind, e.job_id, e.owner_id, e.at, e.generation, e.state, e.detail,
      w.webhook_id, w.format, (select name from jobs j where j.job_id = e.job_id)
    from (select * from job_events where position > $1 order by position limit $2) e
    left join webhooks w
      on w.owner_id = e.owner_id and e.kind = any(w.kinds) and w.state = 'ACTIVE' and e.at >= w.created_at
    order by e.position`,
};

// A webhook that has been deleted in the meantime gets nothing.
const INSERT_DELIVERIES: Statement = {
  name: 'insert-deliveries',
  text: `
    insert into deliveries (webhook_id, event_id, kind, job_id, body)
    select n.* from unnest($1::uuid[], $2::bigint[], $3::text[], $4::uuid[], $5::text[]) n (webhook_id, event_id, kind, job_id, body)
    join webhooks w using (webhook_id)
    on conflict (webhook_id, event_id) do nothing`,
};

const NOTE_TAKEN: Statement = { name: 'note-taken-events', text: 'update webhook_intake set taken = $1' };

export async function hasUntakenEvents(db: Executor): Promise<boolean> {
  return (await db.run(HAS_UNTAKEN)).rowCount === 1;
}

/** Returns null if another process holds the intake. */
export async function lockIntake(tx: Executor): Promise<number | null> {
  return (await tx.run<{ taken: number }>(LOCK_INTAKE)).rows[0]?.taken ?? null;
}

export interface EventToTell extends StoredJobEvent {
  /** Null if the job was deleted. */
  jobName: string | null;
  webhook: { webhookId: string; format: WebhookFormat } | null;
}

export async function eventsToTell(tx: Executor, after: number, limit: number): Promise<EventToTell[]> {
  const rows = await tx.runArrays(EVENTS_TO_TELL, [after, limit]);
  return rows.map((row) => ({
    ...toEvent(row),
    webhook: row[9] === null ? null : { webhookId: row[9] as string, format: row[10] as WebhookFormat },
    jobName: row[11] as string | null,
  }));
}

export interface NewDelivery {
  webhookId: string;
  eventId: number;
  kind: string;
  jobId: string;
  body: string;
}

export async function insertDeliveries(
  tx: Executor,
  deliveries: NewDelivery[],
  taken: number,
): Promise<number> {
  const columns = (['webhookId', 'eventId', 'kind', 'jobId', 'body'] as const).map((key) =>
    deliveries.map((delivery) => delivery[key]),
  );
  const inserted = deliveries.length === 0 ? 0 : ((await tx.run(INSERT_DELIVERIES, columns)).rowCount ?? 0);
  await tx.run(NOTE_TAKEN, [taken]);
  return inserted;
}
