import type { Executor, Statement } from '../../platform/database.ts';

// Counts come from the ledger, so that a summary costs the same for ten rows and for ten million; that the
// ledger equals a recount is an invariant of its own (`rowmill doctor`).
const INSERT_SUMMARY: Statement = {
  name: 'insert-summary',
  text: `
    with per_phase as (
      select l.phase, sum(l.done) as done, sum(l.error) as error, sum(l.not_found) as not_found, sum(l.skipped) as skipped,
             sum(l.cancelled) as cancelled, sum(l.advanced) as advanced, sum(l.retried) as retried,
             sum(l.flushes) as flushes, sum(l.handler_ms) as handler_ms, sum(l.bytes) as bytes
      from ledger l where l.job_id = $1 and l.generation = $2 group by l.phase
    )
    insert into summaries (job_id, generation, outcome, total, counts, phases, timings)
    select j.job_id, $2, $3::job_state, j.item_count,
      (select jsonb_build_object('DONE', coalesce(sum(done), 0), 'ERROR', coalesce(sum(error), 0),
          'NOT_FOUND', coalesce(sum(not_found), 0), 'SKIPPED', coalesce(sum(skipped), 0),
          'CANCELLED', coalesce(sum(cancelled), 0)) from per_phase),
      (select coalesce(jsonb_agg(jsonb_build_object(
          'phase', phase, 'name', j.phases[phase + 1], 'done', done, 'error', error, 'notFound', not_found,
          'skipped', skipped, 'cancelled', cancelled, 'advanced', advanced, 'retried', retried, 'flushes', flushes,
          'handlerMs', round(handler_ms::numeric, 1), 'bytes', bytes) order by phase), '[]') from per_phase),
      jsonb_build_object('createdAt', j.created_at, 'sealedAt', j.sealed_at, 'startedAt', j.started_at,
        'finalizingAt', j.finalizing_at,
        'lastFlushAt', (select max(l.at) from ledger l where l.job_id = $1 and l.generation = $2),
        'runMs', round(extract(epoch from (j.finalizing_at - coalesce(j.started_at, j.created_at))) * 1000))
    from jobs j
    where j.job_id = $1
    on conflict (job_id, generation) do nothing`,
};

const INSERT_OUTBOX: Statement = {
  name: 'insert-outbox',
  text: 'insert into outbox (job_id, type, payload) values ($1, $2, $3)',
};

export async function insertSummary(
  db: Executor,
  jobId: string,
  generation: number,
  outcome: string,
): Promise<boolean> {
  return (await db.run(INSERT_SUMMARY, [jobId, generation, outcome])).rowCount === 1;
}

export async function insertOutboxEvent(
  db: Executor,
  jobId: string,
  type: string,
  payload: unknown,
): Promise<void> {
  await db.run(INSERT_OUTBOX, [jobId, type, JSON.stringify(payload)]);
}
