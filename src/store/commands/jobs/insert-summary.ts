import type { GenerationDiff } from '../../../core/jobs/generation-diff.ts';
import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Summary } from '../../../core/jobs/summary.ts';
import type { OutputFile } from '../../../core/files/output-format.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Counts come from the ledger, so a summary costs the same for ten rows and for ten million. That the ledger equals a
// recount is a separate invariant (`rowmill doctor`). Counts cover all items over all generations; phases cover the
// work since the previous summary: this generation and those it continues. Read once for summary.json and once for
// the row: nothing changes between the two, because a job that is finalizing has no spans.
const SUMMED_UP = `coalesce((select max(b.generation) from summaries b where b.job_id = $1 and b.generation < $2), 0)`;
const SUMMARY = `
    select j.job_id, $2::int as generation, $3::job_state as outcome, j.item_count as total,
      (select jsonb_build_object('DONE', coalesce(sum(done), 0), 'ERROR', coalesce(sum(error), 0),
          'NOT_FOUND', coalesce(sum(not_found), 0), 'SKIPPED', coalesce(sum(skipped), 0),
          'CANCELLED', coalesce(sum(cancelled), 0)) from ledger l where l.job_id = $1) as counts,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'phase', phase, 'name', j.phases[phase + 1], 'done', done, 'error', error, 'notFound', not_found,
          'skipped', skipped, 'cancelled', cancelled, 'advanced', advanced, 'retried', retried, 'flushes', flushes,
          'handlerMs', round(handler_ms::numeric, 1), 'bytes', bytes, 'cost', cost) order by phase), '[]') from per_phase) as phases,
      jsonb_build_object('createdAt', j.created_at, 'openedAt', g.opened_at, 'sealedAt', j.sealed_at, 'startedAt', j.started_at,
        'finalizingAt', j.finalizing_at,
        'lastFlushAt', (select max(l.at) from ledger l where l.job_id = $1 and l.generation > ${SUMMED_UP} and l.generation <= $2),
        'runMs', round(extract(epoch from (j.finalizing_at - coalesce(j.started_at, g.opened_at, j.created_at))) * 1000)) as timings,
      (select coalesce(sum(l.cost), 0) from ledger l where l.job_id = $1) as cost,
      (select coalesce(sum(l.fenced_cost), 0) from ledger l where l.job_id = $1) as fenced_cost
    from jobs j
    left join generations g on g.job_id = $1 and g.generation = $2
    where j.job_id = $1`;
const PER_PHASE = `
    with per_phase as (
      select l.phase, sum(l.done) as done, sum(l.error) as error, sum(l.not_found) as not_found, sum(l.skipped) as skipped,
             sum(l.cancelled) as cancelled, sum(l.advanced) as advanced, sum(l.retried) as retried,
             sum(l.flushes) as flushes, sum(l.handler_ms) as handler_ms, sum(l.bytes) as bytes, sum(l.cost) as cost
      from ledger l where l.job_id = $1 and l.generation > ${SUMMED_UP} and l.generation <= $2 group by l.phase
    )`;

const DRAFT_SUMMARY: Statement = { name: 'draft-summary', text: `${PER_PHASE}${SUMMARY}` };

const INSERT_SUMMARY: Statement = {
  name: 'insert-summary',
  text: `${PER_PHASE}
    insert into summaries (job_id, generation, outcome, total, counts, phases, timings, cost, fenced_cost, files, diff)
    select s.*, $4::jsonb, $5::jsonb from (${SUMMARY}) s
    returning counts, cost, (select cost_unit from jobs where job_id = $1) as "costUnit"`,
};

export interface SummaryDraft {
  total: number;
  counts: Record<ItemStatus, number>;
  phases: unknown;
  timings: unknown;
  cost: number;
  fencedCost: number;
}

export async function draftSummary(
  db: Executor,
  jobId: string,
  generation: number,
  state: string,
): Promise<SummaryDraft> {
  const { rows } = await db.run<Omit<SummaryDraft, 'fencedCost'> & { fenced_cost: number }>(DRAFT_SUMMARY, [
    jobId,
    generation,
    state,
  ]);
  const { total, counts, phases, timings, cost, fenced_cost: fencedCost } = rows[0]!;
  return { total, counts, phases, timings, cost, fencedCost };
}

/** Returns the counts and the cost of the job's items. The primary key refuses a second summary of a generation. */
export async function insertSummary(
  db: Executor,
  jobId: string,
  generation: number,
  state: string,
  files: OutputFile[],
  diff: GenerationDiff | null,
): Promise<Pick<Summary, 'counts' | 'cost' | 'costUnit'>> {
  const values = [jobId, generation, state, JSON.stringify(files), diff && JSON.stringify(diff)];
  const { rows } = await db.run<Pick<Summary, 'counts' | 'cost' | 'costUnit'>>(INSERT_SUMMARY, values);
  return rows[0]!;
}
