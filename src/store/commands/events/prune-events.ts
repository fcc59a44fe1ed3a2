import type { Executor, Statement } from '../../../platform/database.ts';

// Deletes old events, except those that webhooks have not taken yet; without webhooks, none are kept for them. Oldest
// first, so that all events up to the recorded position are gone. Index: job_events_by_position.
const PRUNE_EVENTS: Statement = {
  name: 'prune-job-events',
  text: `
    with old as (
      select e.event_id, e.position from (
        select event_id, position, at from job_events where position is not null order by position limit $2
      ) e
      where e.at < now() - $1::float8 * interval '1 millisecond'
        and (e.position <= (select taken from webhook_intake) or not exists (select 1 from webhooks))
    ),
    noted as (
      update event_positions set pruned = greatest(pruned, (select max(position) from old))
      where exists (select 1 from old)
    )
    delete from job_events e using old where e.event_id = old.event_id`,
};

// Delivered and given-up messages are kept for the log as long as events are.
const PRUNE_DELIVERIES: Statement = {
  name: 'prune-deliveries',
  text: `
    delete from deliveries d
    using (
      select delivery_id from deliveries
      where state <> 'PENDING' and created_at < now() - $1::float8 * interval '1 millisecond'
      limit $2
    ) old
    where d.delivery_id = old.delivery_id`,
};

const PRUNE_CALLBACKS: Statement = {
  name: 'prune-callbacks',
  text: `
    delete from callbacks c
    using (
      select job_id, generation, kind, part from callbacks
      where state = 'DONE' and created_at < now() - $1::float8 * interval '1 millisecond'
      limit $2
    ) old
    where c.job_id = old.job_id and c.generation = old.generation and c.kind = old.kind and c.part = old.part`,
};

/** Returns the largest number deleted of one kind; less than the limit means that nothing is left to delete. */
export async function pruneOld(
  db: Executor,
  keepMs: number,
  limit: number,
  options: { deliveries: boolean },
): Promise<number> {
  const statements = [PRUNE_EVENTS, PRUNE_CALLBACKS, ...(options.deliveries ? [PRUNE_DELIVERIES] : [])];
  let most = 0;
  for (const statement of statements)
    most = Math.max(most, (await db.run(statement, [keepMs, limit])).rowCount ?? 0);
  return most;
}
