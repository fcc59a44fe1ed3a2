import type { JobBudget } from '../../../core/limits/budget.ts';
import type { JobSource } from '../../../core/files/file-format.ts';
import type { InputColumn } from '../../../core/items/input-column.ts';
import type { JobOutput } from '../../../core/files/output-format.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// The job id is derived from the idempotency key, if there is one: the primary key makes a repeated request the same
// job, without a unique index that could not be distributed by job_id.
const INSERT_JOB: Statement = {
  name: 'insert-job',
  text: `
    insert into jobs (job_id, owner_id, pipeline, phases, name, params, priority, ingest_batch,
                      source, input_columns, key_columns, updates_job_id, outputs, pipeline_version, state, trial_items,
                      budget_max, budget_per_item, fingerprint, pipeline_keep_days, cost_unit)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
    on conflict (job_id) do nothing
    returning job_id`,
};

export interface NewJob {
  jobId: string;
  ownerId: string;
  pipeline: string;
  phases: string[];
  name: string;
  params: unknown;
  priority: number;
  source: JobSource | null;
  inputColumns: InputColumn[];
  keyColumns: readonly string[];
  updatesJobId: string | null;
  outputs: readonly JobOutput[];
  pipelineVersion: string | null;
  pipelineKeepDays: number | null;
  /** Creates the job paused. */
  hold: boolean;
  trialItems: number | null;
  budget: JobBudget;
  /** Identifies the content of the request; null if unknown. */
  fingerprint: string | null;
  costUnit: string | null;
  /** Marks the row as created by this request until the first batch, so a retried insert recognizes its own row. */
  requestId: string;
}

/** Returns false if the job already exists. */
export async function insertJob(db: Executor, job: NewJob): Promise<boolean> {
  const { rowCount } = await db.run(INSERT_JOB, [
    job.jobId,
    job.ownerId,
    job.pipeline,
    job.phases,
    job.name,
    JSON.stringify(job.params ?? {}),
    job.priority,
    job.requestId,
    job.source === null ? null : JSON.stringify(job.source),
    JSON.stringify(job.inputColumns),
    job.keyColumns,
    job.updatesJobId,
    job.outputs,
    job.pipelineVersion,
    job.hold ? 'PAUSED' : 'INGESTING',
    job.trialItems,
    job.budget.max ?? null,
    job.budget.perItem ?? null,
    job.fingerprint,
    job.pipelineKeepDays,
    job.costUnit,
  ]);
  return rowCount === 1;
}
