import type { InputColumn } from '../../../core/items/input-column.ts';
import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';
import { withNewColumns } from '../items/reserve-seqs.ts';

// Reopens a finished job, or continues a paused one with a further generation. The row lock, the state and the
// generation let one of several callers win. For a finished job, all values that belong to one generation are
// cleared, and a partly read file stays partly read. A paused job stays paused and keeps its spans. All its rows must
// be stored, because a file that fails deletes the spans of its job.
const OPEN_GENERATION: Statement = {
  name: 'open-generation',
  text: `
    update jobs
    set generation = generation + 1, sealed_at = coalesce(sealed_at, now()),
        state = (case when state = 'PAUSED' then 'PAUSED' else 'QUEUED' end)::job_state,
        started_at = case when state = 'PAUSED' then started_at end,
        trial_items = case when state = 'PAUSED' then trial_items end,
        finalizing_at = null, finished_at = null, cancelled_at = null, last_error = null,
        has_edits = has_edits or $3, input_columns = ${withNewColumns('$4::jsonb')}
    where job_id = $1 and generation = $2 and state = $5::job_state
      and (${canGo('reopen')} or state = 'PAUSED' and sealed_at is not null)`,
};

const INSERT_GENERATION: Statement = {
  name: 'insert-generation',
  text: `
    insert into generations (job_id, generation, request_id, selection, selected, left_out, continues)
    values ($1, $2, $3, $4, $5, $6,
      not exists (select from summaries s where s.job_id = $1 and s.generation = $2 - 1))`,
};

export interface OpenedGeneration {
  generation: number;
  selected: number;
  /** Selected items that are left out: failures that would repeat, and items that reached the attempt limit. */
  leftOut: { permanent: number; exhausted: number };
}

/** Returns false if the job is no longer in this state or at this generation. */
export async function openGeneration(
  db: Executor,
  { jobId, generation, state }: { jobId: string; generation: number; state: JobState },
  edits: { columns: InputColumn[] } | null,
): Promise<boolean> {
  const columns = edits ? JSON.stringify(edits.columns) : null;
  return (await db.run(OPEN_GENERATION, [jobId, generation, edits !== null, columns, state])).rowCount === 1;
}

export async function insertGeneration(
  db: Executor,
  opened: OpenedGeneration & { jobId: string; requestId: string; selection: unknown },
): Promise<void> {
  const { jobId, generation, requestId, selected } = opened;
  const values = [JSON.stringify(opened.selection), selected, JSON.stringify(opened.leftOut)];
  await db.run(INSERT_GENERATION, [jobId, generation, requestId, ...values]);
}
