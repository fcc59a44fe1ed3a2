import type { InputColumn } from '../../core/input-column.ts';
import type { Executor, Statement } from '../../platform/database.ts';
import { withNewColumns } from './reserve-seqs.ts';

// A finished job is opened again. The row lock and the generation let one of several callers win; the others see a job
// that is not finished. What belongs to one generation is cleared; a file that was cancelled while it was read stays as
// far as it came.
const OPEN_GENERATION: Statement = {
  name: 'open-generation',
  text: `
    update jobs
    set generation = generation + 1, state = 'QUEUED', sealed_at = coalesce(sealed_at, now()), started_at = null,
        finalizing_at = null, finished_at = null, cancelled_at = null, trial_items = null, last_error = null,
        has_edits = has_edits or $3, input_columns = ${withNewColumns('$4::jsonb')}
    where job_id = $1 and generation = $2 and state in ('DONE', 'CANCELLED')`,
};

const INSERT_GENERATION: Statement = {
  name: 'insert-generation',
  text: `
    insert into generations (job_id, generation, request_id, selection, selected, left_out)
    values ($1, $2, $3, $4, $5, $6)`,
};

export interface OpenedGeneration {
  generation: number;
  selected: number;
  /** Items that were chosen and left out: failures that would repeat, and items that were tried too often. */
  leftOut: { permanent: number; exhausted: number };
}

/** False when the job is not finished, or no longer at this generation. */
export async function openGeneration(
  db: Executor,
  jobId: string,
  generation: number,
  edits: { columns: InputColumn[] } | null,
): Promise<boolean> {
  const columns = edits ? JSON.stringify(edits.columns) : null;
  return (await db.run(OPEN_GENERATION, [jobId, generation, edits !== null, columns])).rowCount === 1;
}

export async function insertGeneration(
  db: Executor,
  opened: OpenedGeneration & { jobId: string; requestId: string; selection: unknown },
): Promise<void> {
  const { jobId, generation, requestId, selected } = opened;
  const values = [JSON.stringify(opened.selection), selected, JSON.stringify(opened.leftOut)];
  await db.run(INSERT_GENERATION, [jobId, generation, requestId, ...values]);
}
