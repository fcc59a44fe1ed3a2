import type { IngestReport, JobSource } from '../../../core/files/file-format.ts';
import type { JobOutput } from '../../../core/files/output-format.ts';
import type { InputColumn } from '../../../core/items/input-column.ts';
import { jobIdRange } from '../../../core/jobs/job-id-prefix.ts';
import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const COLUMNS = `job_id as "jobId", owner_id as "ownerId", pipeline, phases, name, params, state, priority, generation,
  item_count as "itemCount", last_error as "lastError", created_at as "createdAt", sealed_at as "sealedAt",
  started_at as "startedAt", cancelled_at as "cancelledAt", finished_at as "finishedAt",
  ingest_batch as "ingestBatch", ingest_checkpoint as "ingestCheckpoint", source,
  input_columns as "inputColumns", ingest_report as "ingestReport", input_checksum as "inputChecksum",
  key_columns as "keyColumns", updates_job_id as "updatesJobId", outputs,
  pipeline_version as "pipelineVersion", cost_unit as "costUnit", finalize_attempts as "finalizeAttempts", fingerprint,
  json_build_object('max', budget_max, 'perItem', budget_per_item) as budget,
  case when state = 'PAUSED' then paused_because end as "pausedBecause",
  (extract(epoch from ingest_expires_at - now()) * 1000)::float8 as "ingestLeaseMs"`;

const READ_JOB: Statement = { name: 'read-job', text: `select ${COLUMNS} from jobs where job_id = $1` };
// Ownership is part of the query: a job of another owner is not found. Null owners match all.
const READ_VISIBLE_JOB: Statement = {
  name: 'read-visible-job',
  text: `select ${COLUMNS} from jobs where job_id = $1 and ($2::text[] is null or owner_id = any($2::text[]))`,
};
// Users type the first characters of an id, as for commits. A range, because jobs_pkey has no order of texts.
const FIND_BY_PREFIX: Statement = {
  name: 'find-job-by-prefix',
  text: `select ${COLUMNS} from jobs
    where job_id between $1::uuid and $2::uuid and ($3::text[] is null or owner_id = any($3::text[]))
    order by job_id limit $4`,
};

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
  /** Unit of its costs; null if unknown. */
  costUnit: string | null;
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

export async function readJob(db: Executor, jobId: string): Promise<Job | null> {
  const { rows } = await db.run<Job>(READ_JOB, [jobId]);
  return rows[0] ?? null;
}

/** Returns null if there is no such job or it belongs to another owner; null owners match all. */
export async function readVisibleJob(
  db: Executor,
  jobId: string,
  owners: readonly string[] | null,
): Promise<Job | null> {
  const { rows } = await db.run<Job>(READ_VISIBLE_JOB, [jobId, owners]);
  return rows[0] ?? null;
}

/** Jobs whose id starts with `prefix`, in the order of their ids; null owners match all. */
export async function findJobsByPrefix(
  db: Executor,
  prefix: string,
  owners: readonly string[] | null,
  limit: number,
): Promise<Job[]> {
  const range = jobIdRange(prefix);
  if (range === null) return [];
  return (await db.run<Job>(FIND_BY_PREFIX, [range.first, range.last, owners, limit])).rows;
}
