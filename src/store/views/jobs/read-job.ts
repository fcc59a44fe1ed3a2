import type { IngestReport, JobSource } from '../../../core/files/file-format.ts';
import type { JobOutput } from '../../../core/files/output-format.ts';
import type { InputColumn } from '../../../core/items/input-column.ts';
import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const COLUMNS = `job_id, owner_id, pipeline, phases, name, params, state, priority, generation, item_count, last_error,
  created_at, sealed_at, started_at, cancelled_at, finished_at, ingest_batch, ingest_checkpoint, source, input_columns, ingest_report,
  input_checksum, key_columns, updates_job_id, outputs, pipeline_version, finalize_attempts, budget_max, budget_per_item, paused_because, fingerprint,
  extract(epoch from ingest_expires_at - now()) * 1000 as ingest_lease_ms`;

const READ_JOB: Statement = { name: 'read-job', text: `select ${COLUMNS} from jobs where job_id = $1` };
// Ownership is part of the query: a job of another owner is not found. Null owners match all.
const READ_VISIBLE_JOB: Statement = {
  name: 'read-visible-job',
  text: `select ${COLUMNS} from jobs where job_id = $1 and ($2::text[] is null or owner_id = any($2::text[]))`,
};
// Users type the first characters of an id, as for commits.
const FIND_BY_PREFIX: Statement = {
  name: 'find-job-by-prefix',
  text: `select ${COLUMNS} from jobs where job_id::text like $1 || '%' order by created_at desc limit 2`,
};

interface JobRow {
  job_id: string;
  owner_id: string;
  pipeline: string;
  phases: string[];
  name: string;
  params: unknown;
  state: JobState;
  priority: number;
  generation: number;
  item_count: number;
  last_error: string | null;
  created_at: Date;
  sealed_at: Date | null;
  started_at: Date | null;
  cancelled_at: Date | null;
  finished_at: Date | null;
  ingest_batch: string | null;
  ingest_checkpoint: unknown;
  source: JobSource | null;
  input_columns: InputColumn[];
  ingest_report: Partial<IngestReport>;
  input_checksum: string | null;
  key_columns: string[];
  updates_job_id: string | null;
  outputs: JobOutput[];
  pipeline_version: string | null;
  finalize_attempts: number;
  budget_max: number | null;
  budget_per_item: number | null;
  paused_because: string | null;
  fingerprint: string | null;
  ingest_lease_ms: string | null;
}

export interface Job {
  jobId: string;
  ownerId: string;
  pipeline: string;
  phases: string[];
  name: string;
  params: unknown;
  state: JobState;
  priority: number;
  generation: number;
  itemCount: number;
  lastError: string | null;
  createdAt: Date;
  sealedAt: Date | null;
  startedAt: Date | null;
  /** Time of the cancellation. */
  cancelledAt: Date | null;
  finishedAt: Date | null;
  ingestBatch: string | null;
  ingestCheckpoint: unknown;
  /** Null if the items did not come from a file. */
  source: JobSource | null;
  inputColumns: InputColumn[];
  ingestReport: Partial<IngestReport>;
  /** Checksum of the rows as read; null before the seal. */
  inputChecksum: string | null;
  keyColumns: string[];
  updatesJobId: string | null;
  outputs: JobOutput[];
  pipelineVersion: string | null;
  finalizeAttempts: number;
  /** Cost limits of the job and of each item; null for no limit. */
  budget: { max: number | null; perItem: number | null };
  /** Why the job was paused automatically; null if it is not paused or a user paused it. */
  pausedBecause: string | null;
  /** Identifies the content of the request that created the job; null if unknown. */
  fingerprint: string | null;
  /** Remaining lease of the process that reads the file; null if no process does. */
  ingestLeaseMs: number | null;
}

function toJob(row: JobRow): Job {
  return {
    jobId: row.job_id,
    ownerId: row.owner_id,
    pipeline: row.pipeline,
    phases: row.phases,
    name: row.name,
    params: row.params,
    state: row.state,
    priority: row.priority,
    generation: row.generation,
    itemCount: row.item_count,
    lastError: row.last_error,
    createdAt: row.created_at,
    sealedAt: row.sealed_at,
    startedAt: row.started_at,
    cancelledAt: row.cancelled_at,
    finishedAt: row.finished_at,
    ingestBatch: row.ingest_batch,
    ingestCheckpoint: row.ingest_checkpoint,
    source: row.source,
    inputColumns: row.input_columns,
    ingestReport: row.ingest_report,
    inputChecksum: row.input_checksum,
    keyColumns: row.key_columns,
    updatesJobId: row.updates_job_id,
    outputs: row.outputs,
    pipelineVersion: row.pipeline_version,
    finalizeAttempts: row.finalize_attempts,
    budget: { max: row.budget_max, perItem: row.budget_per_item },
    pausedBecause: row.state === 'PAUSED' ? row.paused_because : null,
    fingerprint: row.fingerprint,
    ingestLeaseMs: row.ingest_lease_ms === null ? null : Number(row.ingest_lease_ms),
  };
}

export async function readJob(db: Executor, jobId: string): Promise<Job | null> {
  const { rows } = await db.run<JobRow>(READ_JOB, [jobId]);
  return rows[0] ? toJob(rows[0]) : null;
}

/** Returns null if there is no such job or it belongs to another owner; null owners match all. */
export async function readVisibleJob(
  db: Executor,
  jobId: string,
  owners: readonly string[] | null,
): Promise<Job | null> {
  const { rows } = await db.run<JobRow>(READ_VISIBLE_JOB, [jobId, owners]);
  return rows[0] ? toJob(rows[0]) : null;
}

/** Returns no job, one, or two if the prefix is ambiguous. */
export async function findJobsByPrefix(db: Executor, prefix: string): Promise<Job[]> {
  return (await db.run<JobRow>(FIND_BY_PREFIX, [prefix.toLowerCase()])).rows.map(toJob);
}

const READ_JOB_PARAMS: Statement = {
  name: 'read-job-params',
  text: 'select params from jobs where job_id = $1',
};

/** The parameters given at creation; they never change. */
export async function readJobParams(db: Executor, jobId: string): Promise<Record<string, unknown>> {
  const { rows } = await db.run<{ params: Record<string, unknown> | null }>(READ_JOB_PARAMS, [jobId]);
  return rows[0]?.params ?? {};
}
