import type { InputColumn } from '../../../core/items/input-column.ts';
import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';
import { withNewColumns } from '../items/reserve-seqs.ts';

// A finished job is opened again, or a paused one goes on with a further generation. The row lock, the state and the
// generation let one of several callers win. Of a finished job everything that belongs to one generation is cleared, and
// a file that was not read to its end stays as far as it came. A paused job stays paused, with its spans as they are; its
// rows must all be there, because a file that fails takes the spans of its job along.
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
  /** Items that were chosen and left out: failures that would repeat, and items that were tried too often. */
  leftOut: { permanent: number; exhausted: number };
}

/** False when the job is no longer in this state, or no longer at this generation. */
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
